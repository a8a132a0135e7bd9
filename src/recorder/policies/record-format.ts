/**
 * The format of the flight recorder: lines of JSON, in sessions that stand alone.
 *
 *   {"record":"statelet","version":1,"at":MS,"program":"0.3.0","pid":77,"node":"a"}
 *                                  a session begins; numbers of an older one are void
 *   {"at":MS,"session":MS}                                                 later times count from here; when its session began
 *   {"pod":1,"is":{"metadata":…,"spec":…}}                                 what the number of a pod in later lines means
 *   {"actor":1,"id":"web_default UID","state":…,"context":{…}}             what the number of an actor means, and how it was just
 *                                  before its next transition; again where something is missing between that and its last one
 *   {"kind":1,"chart":…,"event":…,"from":…,"to":…,"guard":…,"actions":[…]}  what the number of a kind means
 *   [12,1,1]                                                               12 ms later: actor 1, transition of kind 1
 *   [12,1,1,{"pod":{"$pod":1}}]                                            what its event said beside its type (recorded-data.ts)
 *   [12,1,1,{…},1]                                                         the same; something long was cut off
 *   [0,1,2,0]                                                              a step that follows from the one before, without an event
 *   {"lost":9}                                                             that many were not written: the disk was too slow
 *
 * A reader passes over lines that it does not know, that are torn or that are no JSON, and over sessions of a higher version. Fields
 * and elements may be added at the end without a new version.
 */
import { isObject } from '../../agent/policies/formats/json-values.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { ActorSnapshot, ActorStep, TransitionKind } from '../../types/transition.ts';
import type { RecordedTransition, SessionFacts } from './record-entry.ts';
import { type DataText, DataWriter, recordedPod } from './recorded-data.ts';

export type { SessionFacts } from './record-entry.ts';

export const FORMAT = 'statelet';
export const FORMAT_VERSION = 1;

/** In place of data: the step follows from the one before, without an event of its own. */
const FOLLOWS: DataText = { json: '0', isCut: false };

interface KnownActor {
  readonly number: number;
  /** The state after its latest transition. */
  to: string;
  /** The event of its latest transition, which may hold a pod. Kept until the lines are taken, to recognise the steps of one event. */
  event: object | undefined;
}

/** Writes the lines of one session at a time. Names are written once in a session. */
export class RecordWriter {
  readonly #facts: SessionFacts;
  readonly #data = new DataWriter((pod) => this.#podNumbers.get(pod) ?? this.#namePod(pod));
  readonly #actors = new Map<string, KnownActor>();
  /** Those with an event. */
  readonly #atEvents: KnownActor[] = [];
  /** The contexts that actors had after transitions of this session. */
  #contexts = new WeakSet();
  /** By their contents: equal kinds and pods may be several objects. */
  readonly #kinds = new Map<string, number>();
  readonly #pods = new Map<string, number>();
  #kindNumbers = new WeakMap<TransitionKind, number>();
  #podNumbers = new WeakMap<Pod, number>();
  #lines = '';
  #count = 0;
  #lost = 0;
  #beganAt = 0;
  /** Undefined until a line of this batch has it. */
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
    this.#atEvents.length = 0;
    for (const names of [this.#actors, this.#kinds, this.#pods]) names.clear();
    this.#contexts = new WeakSet();
    this.#kindNumbers = new WeakMap();
    this.#podNumbers = new WeakMap();
    this.#beganAt = atMs;
    const session = { record: FORMAT, version: FORMAT_VERSION, at: atMs, ...this.#facts };
    this.#lines = `\n${JSON.stringify(session)}\n`;
    this.#atMs = atMs;
    this.#count = 0;
  }

  add(kind: TransitionKind, id: string, atMs: number, { event, before, after }: ActorStep): void {
    const kindNumber = this.#kindNumbers.get(kind) ?? this.#nameKind(kind);
    const actor = this.#actorBefore(kind, id, before);
    // An `always` step has the event of the step before it.
    const follows = actor.event === event;
    const data = follows ? FOLLOWS : this.#data.ofEvent(kind.chart, event);
    actor.to = kind.to;
    if (actor.event === undefined) this.#atEvents.push(actor);
    actor.event = event;
    if (after.context !== before.context && isObject(after.context)) this.#contexts.add(after.context);
    this.#write(actor.number, kindNumber, atMs, data);
  }

  /** What was read from another record. */
  copy({ transition, before, isCut, follows }: RecordedTransition): void {
    const { atMs, chart, actor: id, from, to, data: said } = transition;
    let actor = this.#actors.get(id);
    if (before !== undefined) actor = this.#writeActor(id, chart, actor, { value: before.state, ...before });
    if (actor === undefined) {
      actor = this.#newActor(id, from);
      this.#lines += `{"actor":${actor.number},"id":${JSON.stringify(id)}}\n`;
    }
    actor.to = to;
    const data = follows ? FOLLOWS : said && this.#data.ofEvent(chart, said);
    this.#write(
      actor.number,
      this.#nameKind(transition),
      atMs,
      data && { ...data, isCut: data.isCut || isCut === true },
    );
  }

  #write(actor: number, kind: number, atMs: number, data: DataText | undefined): void {
    if (this.#atMs === undefined) this.#lines += `{"at":${atMs},"session":${this.#beganAt}}\n`;
    if (this.#lost > 0) this.#lines += `{"lost":${this.#lost}}\n`;
    this.#lost = 0;
    const said = data === undefined ? '' : `,${data.json}${data.isCut ? ',1' : ''}`;
    this.#lines += `[${atMs - (this.#atMs ?? atMs)},${actor},${kind}${said}]\n`;
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
    for (const actor of this.#atEvents) actor.event = undefined;
    this.#atEvents.length = 0;
    this.#lines = '';
    this.#count = 0;
    this.#atMs = undefined;
    return taken;
  }

  #nameKind(kind: TransitionKind): number {
    const { chart, event, from, to, guard, actions } = kind;
    const number = this.#name(
      'kind',
      this.#kinds,
      JSON.stringify({ chart, event, from, to, guard, actions }),
    );
    this.#kindNumbers.set(kind, number);
    return number;
  }

  #namePod(pod: Pod): number {
    const number = this.#name('pod', this.#pods, `{"is":${JSON.stringify(recordedPod(pod))}}`);
    this.#podNumbers.set(pod, number);
    return number;
  }

  #name(what: string, names: Map<string, number>, text: string): number {
    const known = names.get(text);
    if (known !== undefined) return known;
    const number = names.size + 1;
    names.set(text, number);
    this.#lines += `{"${what}":${number},${text.slice(1)}\n`;
    return number;
  }

  /**
   * Writes the present state of the actor, unless it follows from what is written. It does not after transitions that were left out or lost, or
   * that were those of another actor of the same name.
   */
  #actorBefore({ chart, from }: TransitionKind, id: string, { value, context }: ActorSnapshot): KnownActor {
    const known = this.#actors.get(id);
    if (known?.to === from && isObject(context) && this.#contexts.has(context)) return known;
    if (isObject(context)) this.#contexts.add(context);
    return this.#writeActor(id, chart, known ?? this.#newActor(id, from), { value, context });
  }

  #writeActor(
    id: string,
    chart: string,
    actor: KnownActor = this.#newActor(id, ''),
    { value, context, isCut: wasCut = false }: ActorSnapshot & { readonly isCut?: boolean },
  ): KnownActor {
    const { json, isCut } = this.#data.ofContext(chart, isObject(context) ? context : {});
    const cut = isCut || wasCut ? ',"cut":1' : '';
    const state = `"state":${JSON.stringify(value)},"context":${json}${cut}`;
    this.#lines += `{"actor":${actor.number},"id":${JSON.stringify(id)},${state}}\n`;
    return actor;
  }

  #newActor(id: string, to: string): KnownActor {
    const actor = { number: this.#actors.size + 1, to, event: undefined };
    this.#actors.set(id, actor);
    return actor;
  }
}
