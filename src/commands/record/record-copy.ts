/** Chosen transitions of a record, session by session, with the names and pods that they need. */
import { machines } from '../../agent/machines/index.ts';
import {
  namesPod,
  podOfActor,
  type RecordedSnapshot,
  type RecordedTransition,
  type RecordEntry,
  servesPodOf,
} from '../../recorder/policies/record-entry.ts';
import { RecordWriter } from '../../recorder/policies/record-format.ts';
import { ReplayedActor } from '../../recorder/replay/replayed-actor.ts';
import { Stepper } from '../../recorder/replay/stepped-machine.ts';

/** How many are kept of a session, the newest: a pod that restarts for days is named very often. */
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

  /** Where the actor's transition before is left out, its state before this one is written. Steps of an event that is left out are left out. */
  #copyOther({ entry, before, goesOn, isNext }: NamingTransition, written: Set<string>): boolean {
    const { actor } = entry.transition;
    const isKnown = isNext && written.has(actor);
    if (goesOn && !isKnown) return false;
    written.add(actor);
    this.#writer?.copy(isKnown ? entry : { ...entry, before });
    return true;
  }
}

interface NamingTransition {
  readonly entry: RecordedTransition;
  readonly before: RecordedSnapshot;
  /** It is a step of the same event as the actor's transition before. */
  readonly goesOn: boolean;
  /** The actor's transition before names the pod, too. */
  readonly isNext: boolean;
}

interface NodeActor {
  readonly replayed: ReplayedActor;
  /** Left out, and not run yet: nothing is run for an actor that never names the pod. */
  behind: RecordedTransition[];
  wasTaken: boolean;
}

/**
 * Finds the transitions whose events name one pod, among those of actors that serve a whole node. What lies between is left out, but the
 * charts are run through it: each transition is given with the state in which its actor was just before it.
 */
export class NamingTransitions {
  readonly #pod: { readonly namespace: string; readonly name: string };
  readonly #stepper = new Stepper();
  readonly #uids = new Set<string>();
  readonly #actors = new Map<string, NodeActor>();
  #node = '';

  constructor(pod: { readonly namespace: string; readonly name: string }) {
    this.#pod = pod;
  }

  /** Another session begins: each actor is written anew in it. */
  begin(node: string): void {
    this.#node = node;
    this.#actors.clear();
  }

  /** Whether the actor serves the pod itself. Its UID is known from then on. */
  isOwn(actor: string): boolean {
    const served = podOfActor(actor);
    if (!servesPodOf(served, this.#pod, this.#node)) return false;
    this.#uids.add(served.uid);
    return true;
  }

  /** Steps of the latest events may be missing. */
  lose(): void {
    for (const { replayed } of this.#actors.values()) replayed.forgetAhead();
  }

  /** Undefined where it does not name the pod. Entries come in the order of the record. */
  read(entry: RecordedTransition): NamingTransition | undefined {
    const { actor: name, chart, from, data } = entry.transition;
    const actor = this.#actors.get(name) ?? this.#begin(name, chart);
    if (entry.before !== undefined) actor.behind = [];
    const isNext = actor.wasTaken;
    const goesOn = isNext && actor.replayed.goesOn(entry);
    actor.wasTaken = goesOn || this.#isNamedIn(data);
    if (!actor.wasTaken) {
      actor.behind.push(entry);
      return undefined;
    }
    for (const left of actor.behind) actor.replayed.replay(left);
    actor.behind = [];
    const unknown = { state: from, context: {}, isCut: true };
    const before = entry.before ?? actor.replayed.snapshot() ?? unknown;
    actor.replayed.replay(entry);
    return { entry, before, goesOn, isNext };
  }

  #begin(name: string, chart: string): NodeActor {
    const machine = Object.hasOwn(machines, chart) ? machines[chart] : undefined;
    const replayed = new ReplayedActor(machine, this.#stepper);
    const actor: NodeActor = { replayed, behind: [], wasTaken: false };
    this.#actors.set(name, actor);
    return actor;
  }

  #isNamedIn(data: unknown): boolean {
    const isNamed = (namespace: string, name: string) =>
      servesPodOf({ namespace, name, uid: '', part: '' }, this.#pod, this.#node);
    return namesPod(data, { uids: this.#uids, isNamed });
  }
}
