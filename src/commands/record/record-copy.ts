/** Chosen transitions of a record, session by session, with the names and pods that they need. */
import { podOfActor, type RecordedTransition, type RecordEntry } from '../../policies/record/record-entry.ts';
import { RecordWriter } from '../../policies/record/record-format.ts';
import type { NamingTransition, NamingTransitions } from './naming-transitions.ts';

/** In a session, the newest: a pod that restarts for days is named very often. */
const OTHERS_MAX = 1_000;

type Copied = RecordedTransition | NamingTransition | { readonly type: 'lost'; readonly count: number };

export class RecordCopy {
  readonly #sinceMs: number;
  readonly #naming: NamingTransitions | undefined;
  #writer: RecordWriter | undefined;
  #session: Copied[] = [];
  #others = 0;
  #latestMs = 0;
  #lines = '';
  #transitions = 0;
  #ofOthers = 0;
  podName: string | undefined;

  /** Sessions that end before are left out. `naming`: for one pod; without it everything is copied. */
  constructor(sinceMs: number, naming?: NamingTransitions) {
    this.#sinceMs = sinceMs;
    this.#naming = naming;
  }

  add(entry: RecordEntry): void {
    if (entry.type === 'began') {
      this.#endSession();
      const { program, pid, node } = entry;
      this.#writer = new RecordWriter({ program, pid, node });
      this.#writer.begin(entry.atMs);
      this.#naming?.begin(node);
    }
    if (entry.type === 'lost') {
      this.#session.push(entry);
      this.#naming?.lose();
    }
    if (entry.type === 'transition') this.#choose(entry);
  }

  end(): { readonly lines: string; readonly transitions: number; readonly ofOthers: number } {
    this.#endSession();
    return { lines: this.#lines, transitions: this.#transitions, ofOthers: this.#ofOthers };
  }

  #choose(entry: RecordedTransition): void {
    const { actor, atMs } = entry.transition;
    const naming = this.#naming;
    const isOwn = naming === undefined || naming.isOwn(actor);
    const chosen = isOwn ? entry : naming.read(entry);
    if (chosen === undefined) return;
    this.#session.push(chosen);
    this.#latestMs = atMs;
    if (!isOwn) this.#others += 1;
    const pod = podOfActor(actor);
    if (isOwn && pod?.part === '') this.podName = `${pod.namespace}/${pod.name}`;
  }

  #endSession(): void {
    const written = new Set<string>();
    let [leftOut, ofOthers] = [Math.max(0, this.#others - OTHERS_MAX), 0];
    for (const one of this.#session) {
      if ('entry' in one && (leftOut-- > 0 || !this.#copyOther(one, written))) continue;
      if ('entry' in one) ofOthers += 1;
      else if (one.type === 'lost') this.#writer?.lose(one.count);
      else this.#writer?.copy(one);
    }
    this.#session = [];
    this.#others = 0;
    const { lines = '', count = 0 } = this.#writer?.take() ?? {};
    if (count === 0 || this.#latestMs < this.#sinceMs) return;
    this.#lines += lines;
    this.#transitions += count;
    this.#ofOthers += ofOthers;
  }

  /** How the actor was is said wherever its transition before is not there. A step whose event is not there is left out. */
  #copyOther({ entry, before, goesOn, isNext }: NamingTransition, written: Set<string>): boolean {
    const { actor } = entry.transition;
    const isKnown = isNext && written.has(actor);
    if (goesOn && !isKnown) return false;
    written.add(actor);
    this.#writer?.copy(isKnown ? entry : { ...entry, before });
    return true;
  }
}
