/**
 * Of the actors that serve a whole node, the transitions whose events name one pod. What lies between them is left out: each is given
 * with how its actor was just before it, for which the charts are run through what is left out.
 */
import { machines } from '../../machines/index.ts';
import {
  namesPod,
  podOfActor,
  type RecordedSnapshot,
  type RecordedTransition,
  servesPodOf,
} from '../../policies/record/record-entry.ts';
import { ReplayedActor } from '../../replay/replayed-actor.ts';
import { Stepper } from '../../replay/stepped-machine.ts';

export interface NamingTransition {
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

export class NamingTransitions {
  readonly #pod: { readonly namespace: string; readonly name: string };
  readonly #stepper = new Stepper();
  readonly #uids = new Set<string>();
  readonly #actors = new Map<string, NodeActor>();
  #node = '';

  constructor(pod: { readonly namespace: string; readonly name: string }) {
    this.#pod = pod;
  }

  /** Another session begins, in which each actor is told anew. */
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
