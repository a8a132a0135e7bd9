/**
 * The format of the flight recorder: lines of JSON, in sessions that stand alone.
 *
 *   {"record":"statelet","version":1,"at":MS,"program":"0.3.0","pid":77,"node":"a"}
                                  a session begins; numbers of an older one are void
 *   {"at":MS,"session":MS}                                                 later times count from here; when its session began
 *   {"actor":1,"id":"web_default UID"}                                     what the number of an actor means
 *   {"kind":1,"chart":…,"event":…,"from":…,"to":…,"guard":…,"actions":[…]}  what the number of a kind means
 *   [12,1,1]                                                               12 ms later: actor 1, transition of kind 1
 *   {"lost":9}                                                             that many were not written: the disk was too slow
 *
 * A reader passes over lines that it does not know, that are torn or that are no JSON, and over sessions of a higher version. Fields
 * and elements may be added at the end without a new version.
 */
import type { TransitionKind } from '../../types/transition.ts';

export const FORMAT = 'statelet';
export const FORMAT_VERSION = 1;

/** Where a session comes from. */
export interface SessionFacts {
  /** The version of Statelet. */
  readonly program: string;
  readonly pid: number;
  /** The name of the node. */
  readonly node: string;
}

/** Writes the lines of one session at a time. Names are written once in a session. */
export class RecordWriter {
  readonly #facts: SessionFacts;
  readonly #actors = new Map<string, number>();
  /** By what they say: equal kinds may be several objects. */
  readonly #kinds = new Map<string, number>();
  #knownKinds = new WeakMap<TransitionKind, number>();
  #lines = '';
  #count = 0;
  #lost = 0;
  #beganAt = 0;
  /** Undefined until a line of this batch has said it. */
  #atMs: number | undefined;

  constructor(facts: SessionFacts) {
    this.#facts = facts;
  }

  /** How many characters wait to be taken. */
  get size(): number {
    return this.#lines.length;
  }

  /** Drops what has not been taken. The line break before it ends a line that is torn. */
  begin(atMs: number): void {
    this.lose(this.#count);
    this.#actors.clear();
    this.#kinds.clear();
    this.#knownKinds = new WeakMap();
    this.#beganAt = atMs;
    const session = { record: FORMAT, version: FORMAT_VERSION, at: atMs, ...this.#facts };
    this.#lines = `\n${JSON.stringify(session)}\n`;
    this.#atMs = atMs;
    this.#count = 0;
  }

  add(kind: TransitionKind, actor: string, atMs: number): void {
    const kindNumber = this.#knownKinds.get(kind) ?? this.#nameKind(kind);
    const actorNumber = this.#actors.get(actor) ?? this.#nameActor(actor);
    if (this.#atMs === undefined) this.#lines += `{"at":${atMs},"session":${this.#beganAt}}\n`;
    if (this.#lost > 0) this.#lines += `{"lost":${this.#lost}}\n`;
    this.#lost = 0;
    this.#lines += `[${atMs - (this.#atMs ?? atMs)},${actorNumber},${kindNumber}]\n`;
    this.#atMs = atMs;
    this.#count += 1;
  }

  /** Transitions that are not in the record. The next one is written with their number. */
  lose(count: number): void {
    this.#lost += count;
  }

  /** The lines since the last time, and how many transitions they hold. */
  take(): { readonly lines: string; readonly count: number } {
    const taken = { lines: this.#lines, count: this.#count };
    this.#lines = '';
    this.#count = 0;
    this.#atMs = undefined;
    return taken;
  }

  #nameKind(kind: TransitionKind): number {
    const { chart, event, from, to, guard, actions } = kind;
    const text = JSON.stringify({ chart, event, from, to, guard, actions });
    let number = this.#kinds.get(text);
    if (number === undefined) {
      number = this.#kinds.size + 1;
      this.#kinds.set(text, number);
      this.#lines += `{"kind":${number},${text.slice(1)}\n`;
    }
    this.#knownKinds.set(kind, number);
    return number;
  }

  #nameActor(id: string): number {
    const number = this.#actors.size + 1;
    this.#actors.set(id, number);
    this.#lines += `${JSON.stringify({ actor: number, id })}\n`;
    return number;
  }
}
