/** The faults of the double: the present rules, the watches that they concern, and the listeners to requests. */
import type { WatchSink } from '../watches.ts';
import type { DoubleConnections } from './connections.ts';
import {
  type AnswerFault,
  type EventFault,
  type FaultRule,
  type FaultyRequest,
  isMatch,
  isOfEvents,
  type RequestPattern,
} from './fault-rules.ts';

/** What is reported to the tests. */
export interface FaultListener {
  request(request: FaultyRequest): void;
  /** So many requests or events have been affected by the rule. */
  hit(id: number, hits: number): void;
}

/** A fault that happens to one request. */
export interface AnswerFate<Kind extends AnswerFault = AnswerFault> {
  readonly fault: Kind;
  /** Of the rule. */
  readonly lifted: Promise<undefined>;
}

interface Rule extends FaultRule {
  readonly id: number;
  hits: number;
  readonly lifted: PromiseWithResolvers<undefined>;
}

interface OpenWatch extends FaultyRequest {
  readonly sink: WatchSink;
}

export class Faults {
  readonly connections: DoubleConnections;
  readonly listeners = new Set<FaultListener>();
  /** The latest first. */
  #rules: Rule[] = [];
  readonly #watches = new Set<OpenWatch>();

  constructor(connections: DoubleConnections) {
    this.connections = connections;
  }

  add(id: number, rule: FaultRule): void {
    this.#rules.unshift({ ...rule, id, hits: 0, lifted: Promise.withResolvers() });
  }

  lift(id: number): void {
    this.#rules.find((rule) => rule.id === id)?.lifted.resolve(undefined);
    this.#rules = this.#rules.filter((rule) => rule.id !== id);
  }

  liftAll(): void {
    for (const { id } of this.#rules) this.lift(id);
  }

  /** The fault of this request; undefined: it is answered normally. */
  answerFate(request: FaultyRequest): AnswerFate | undefined {
    for (const listener of this.listeners) listener.request(request);
    const rule = this.#hit((other) => !isOfEvents(other.fault) && isMatch(other, request));
    return rule && { fault: rule.fault as AnswerFault, lifted: rule.lifted.promise };
  }

  /** A sink for a watch that applies the present rules to each event. */
  watchSink(request: FaultyRequest, sink: WatchSink): WatchSink {
    const faulty = new FaultySink(request, sink, (type, name) => this.#eventFault(request, type, name), this);
    const watch = { ...request, sink };
    this.#watches.add(watch);
    return {
      write: (line) => faulty.write(line),
      end: () => {
        this.#watches.delete(watch);
        faulty.end();
      },
    };
  }

  /** Sends an event that has not happened to all watches of the pattern. */
  tell(pattern: RequestPattern, event: object): void {
    for (const { sink } of this.#open(pattern)) sink.write(`${JSON.stringify(event)}\n`);
  }

  /** Ends all watches of the pattern in an orderly way. */
  end(pattern: RequestPattern): void {
    for (const { sink } of this.#open(pattern)) sink.end();
  }

  #open(pattern: RequestPattern): readonly OpenWatch[] {
    return [...this.#watches].filter((watch) => isMatch(pattern, watch));
  }

  #eventFault(request: FaultyRequest, type: string, name: string): EventFault | undefined {
    const rule = this.#hit(
      (other) =>
        isOfEvents(other.fault) &&
        (other.event ?? type) === type &&
        isMatch({ ...other, verb: 'watch' }, request, name),
    );
    return rule?.fault as EventFault | undefined;
  }

  #hit(concerns: (rule: Rule) => boolean): Rule | undefined {
    const rule = this.#rules.find(concerns);
    if (rule === undefined) return undefined;
    rule.hits += 1;
    for (const listener of this.listeners) listener.hit(rule.id, rule.hits);
    if (rule.hits === rule.times) this.#rules = this.#rules.filter((other) => other !== rule);
    return rule;
  }
}

/** The lines of one watch, with their faults. */
class FaultySink implements WatchSink {
  readonly #request: FaultyRequest;
  readonly #sink: WatchSink;
  readonly #faultOf: (type: string, name: string) => EventFault | undefined;
  readonly #faults: Faults;
  #isSilent = false;
  /** Waits for the one after it. */
  #late = '';

  constructor(
    request: FaultyRequest,
    sink: WatchSink,
    faultOf: (type: string, name: string) => EventFault | undefined,
    faults: Faults,
  ) {
    this.#request = request;
    this.#sink = sink;
    this.#faultOf = faultOf;
    this.#faults = faults;
  }

  write(line: string): boolean {
    if (this.#isSilent) return true;
    const { type, object } = JSON.parse(line) as { type: string; object: { metadata?: { name?: string } } };
    const fault = this.#faultOf(type, object.metadata?.name ?? '');
    const late = this.#late;
    this.#late = '';
    switch (fault?.kind) {
      case 'forget':
        return this.#pass(late);
      case 'twice':
        return this.#pass(line + line + late);
      case 'swap':
        this.#late = line;
        return this.#pass(late);
      case 'silence':
        this.#isSilent = true;
        return true;
      case 'cut':
        this.#cut(line.slice(0, line.length / 2), fault.how);
        return true;
      case undefined:
        return this.#pass(line + late);
    }
  }

  end(): void {
    if (!this.#isSilent) this.#sink.end();
  }

  #pass(text: string): boolean {
    return text === '' || this.#sink.write(text);
  }

  #cut(text: string, how: 'end' | 'break'): void {
    this.#isSilent = true;
    this.#sink.write(text);
    if (how === 'end') this.#sink.end();
    // Lines that have been written are sent first.
    else setImmediate(() => this.#faults.connections.breakOff(this.#request));
  }
}
