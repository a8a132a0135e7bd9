/** The changes that a pod lifecycle event generator reports, as texts: `ID=running`, `ID=exited`, `ID=gone`. */
import type { Pleg } from '../../../../src/agent/runtime/pleg/pleg.ts';
import { statesOf } from '../../../../src/agent/runtime/pleg/pod-reader.ts';

export class ToldChanges {
  #lines: { readonly uid: string; readonly line: string }[] = [];
  /** The states that were reported last, by the pod's UID. */
  readonly #states = new Map<string, readonly string[]>();

  /** Records the changes that the generator reports from now on. */
  listen(pleg: Pleg): void {
    pleg.changes.subscribe((uid) => {
      const before = this.#states.get(uid) ?? [];
      const status = pleg.lastSeen(uid);
      const after = (status && statesOf(status)?.split(',')) ?? [];
      this.#states.set(uid, after);
      for (const line of linesOf(before, after)) this.#lines.push({ uid, line });
    });
  }

  get all(): readonly string[] {
    return this.#lines.map(({ line }) => line);
  }

  of(uid: string): readonly string[] {
    return this.#lines.filter((told) => told.uid === uid).map(({ line }) => line);
  }

  /** Empties the list of changes. Later changes are still compared with the last reported states. */
  clear(): void {
    this.#lines = [];
  }
}

function linesOf(before: readonly string[], after: readonly string[]): readonly string[] {
  const idOf = (line: string) => line.slice(0, line.indexOf('='));
  const left = new Set(after.map(idOf));
  const gone = before.map(idOf).filter((id) => !left.has(id));
  return [...after.filter((line) => !before.includes(line)), ...gone.map((id) => `${id}=gone`)];
}
