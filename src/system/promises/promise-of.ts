/** Does synchronous work where a promise is wanted: what the work throws becomes a rejection. */
export function promiseOf<T>(work: () => T): Promise<T> {
  return new Promise((resolve) => resolve(work()));
}
