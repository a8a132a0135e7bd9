/** Those who wait for a pod to be terminated. Each is answered exactly once (lifecycle 6, I7). */
export class KillWaiters {
  readonly #waiting = new Map<string, (answer: undefined) => void>();
  #next = 0;

  add(): { readonly waiter: string; readonly answered: Promise<undefined> } {
    const waiter = `waiter-${String(this.#next++)}`;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#waiting.set(waiter, resolve);
    return { waiter, answered: promise };
  }

  answer(waiter: string): void {
    const resolve = this.#waiting.get(waiter);
    if (resolve === undefined) throw new Error(`${waiter} is answered twice, or was never added (I7)`);
    this.#waiting.delete(waiter);
    resolve(undefined);
  }
}
