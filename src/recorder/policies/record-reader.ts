/** Reads lines of the flight recorder, of this version or another one, also where some are missing or torn. */
import { isObject, parsedJson, textOf } from '../../agent/policies/formats/json-values.ts';
import type { TransitionKind } from '../../types/transition.ts';
import type { RecordedSnapshot, RecordEntry } from './record-entry.ts';
import { FORMAT, FORMAT_VERSION } from './record-format.ts';
import { restoredData } from './recorded-data.ts';

export type { RecordEntry } from './record-entry.ts';

type Line = Readonly<Record<string, unknown>> | readonly unknown[];

export type WantsActor = (actor: string, node: string) => boolean;

interface NamedActor {
  readonly id: string;
  /** Until its next transition. */
  before: RecordedSnapshot | undefined;
}

export class RecordReader {
  readonly #wants: WantsActor;
  readonly #actors = new Map<number, NamedActor>();
  readonly #pods = new Map<number, unknown>();
  readonly #kinds = new Map<number, TransitionKind>();
  /** Undefined before the first time of a session, and in a session that cannot be read. */
  #atMs: number | undefined;
  #isKnown = false;
  #beganAt: unknown;
  #node = '';

  /** Transitions of other actors are left out. */
  constructor(wants: WantsActor = () => true) {
    this.#wants = wants;
  }

  /** The entry in a line, without its line break; undefined for a line that is no entry by itself. */
  read(text: string): RecordEntry | undefined {
    const line = parsed(text);
    if (line === undefined) {
      // What is missing may have been a time.
      if (text !== '') this.#atMs = undefined;
      return undefined;
    }
    if (isList(line)) return this.#transition(line);
    if (line.record === FORMAT) return this.#begin(line);
    if (!this.#isKnown) return undefined;
    const { at, session, actor, id, kind, lost, pod, is } = line;
    if (typeof at === 'number') this.#setTime(at, session);
    if (typeof pod === 'number') this.#pods.set(pod, is);
    if (typeof actor === 'number' && typeof id === 'string') this.#nameActor(actor, id, line);
    if (typeof kind === 'number') this.#nameKind(kind, line);
    if (typeof lost === 'number' && this.#atMs !== undefined)
      return { type: 'lost', atMs: this.#atMs, count: lost };
    return undefined;
  }

  #begin({ version, at, program, pid, node }: Readonly<Record<string, unknown>>): RecordEntry {
    this.#actors.clear();
    this.#kinds.clear();
    this.#pods.clear();
    this.#beganAt = at;
    this.#node = textOf(node);
    this.#isKnown = typeof version === 'number' && version <= FORMAT_VERSION;
    this.#atMs = this.#isKnown && typeof at === 'number' ? at : undefined;
    if (!this.#isKnown) return { type: 'unknown', version: Number(version) };
    return {
      type: 'began',
      atMs: Number(at),
      program: textOf(program),
      pid: Number(pid),
      node: this.#node,
    };
  }

  /** A time of another session: the line with which that began is missing, and so are its numbers. */
  #setTime(at: number, session: unknown): void {
    this.#atMs = at;
    if (session !== this.#beganAt) this.#isKnown = false;
  }

  #transition([delta, actorNumber, kindNumber, said, cut]: readonly unknown[]): RecordEntry | undefined {
    if (!this.#isKnown || this.#atMs === undefined || typeof delta !== 'number') return undefined;
    this.#atMs += delta;
    const actor = this.#actors.get(Number(actorNumber));
    const kind = this.#kinds.get(Number(kindNumber));
    if (actor === undefined || kind === undefined) return undefined;
    const { id, before } = actor;
    actor.before = undefined;
    const data = this.#fields(said);
    return {
      type: 'transition',
      transition: { atMs: this.#atMs, actor: id, ...kind, ...(data && { data }) },
      ...(before && { before }),
      ...(data && cut === 1 && { isCut: true }),
      ...(said === 0 && { follows: true }),
    };
  }

  #nameActor(number: number, id: string, { state, context, cut }: Readonly<Record<string, unknown>>): void {
    if (!this.#wants(id, this.#node)) return;
    const fields = this.#fields(context);
    const before = fields && { state, context: fields, isCut: cut === 1 };
    this.#actors.set(number, { id, before });
  }

  /** With its pods; undefined for what is no object. */
  #fields(value: unknown): Readonly<Record<string, unknown>> | undefined {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    return restoredData(value, this.#pods) as Readonly<Record<string, unknown>>;
  }

  #nameKind(number: number, { chart, event, from, to, guard, actions }: Readonly<Record<string, unknown>>) {
    this.#kinds.set(number, {
      chart: textOf(chart),
      event: textOf(event),
      from: textOf(from),
      to: textOf(to),
      ...(typeof guard === 'string' && { guard }),
      actions: Array.isArray(actions) ? actions.map(textOf) : [],
    });
  }
}

function parsed(text: string): Line | undefined {
  const value = parsedJson(text);
  return isObject(value) ? value : undefined;
}

function isList(line: Line): line is readonly unknown[] {
  return Array.isArray(line);
}
