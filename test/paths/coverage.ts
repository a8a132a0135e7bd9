/** Which states, transitions and guards of a machine its actors have really gone through, according to xstate's inspection. */
import type {
  AnyMachineSnapshot,
  AnyStateMachine,
  AnyStateNode,
  AnyTransitionDefinition,
  InspectionEvent,
} from 'xstate';
import { activeNodes } from '../../src/agent/actors/transitions.ts';

interface Counted {
  readonly name: string;
  count: number;
}

interface CountedGuard extends Counted {
  refused: number;
}

export class Coverage {
  readonly #machine: AnyStateMachine;
  readonly #states = new Map<string, Counted>();
  readonly #transitions = new Map<string, Counted>();
  readonly #guards = new Map<string, CountedGuard>();
  /** The states of each actor. */
  readonly #active = new WeakMap<object, readonly AnyStateNode[]>();
  #paths = 0;
  #steps = 0;

  constructor(machine: AnyStateMachine) {
    this.#machine = machine;
    for (const name of Object.keys(machine.implementations.guards))
      this.#guards.set(name, { name, count: 0, refused: 0 });
    for (const node of nodesOf(machine.root as AnyStateNode)) {
      if (isLeaf(node)) this.#states.set(node.id, { name: nameOf(node), count: 0 });
      for (const transition of [...node.transitions.values()].flat().concat(node.always ?? [])) {
        this.#transitions.set(keyOf(transition), { name: describe(transition), count: 0 });
      }
    }
  }

  /** The `inspect` option for the actors. Actors of other machines do not count. */
  readonly inspect = ({ type, actorRef, ...step }: InspectionEvent): void => {
    if (type !== '@xstate.microstep' || !('_transitions' in step)) return;
    const snapshot = step.snapshot as AnyMachineSnapshot;
    if (snapshot.machine.id !== this.#machine.id) return;
    // An actor is in the initial states before it is told anything.
    const known = this.#active.get(actorRef);
    const former = known ?? initialLeaves(this.#machine.root as AnyStateNode);
    if (known === undefined) for (const node of former) increase(this.#states.get(node.id));
    const taken = new Set(step._transitions.map(keyOf));
    const active = known !== undefined && taken.size === 0 ? known : activeNodes(snapshot);
    this.#active.set(actorRef, active);
    for (const key of taken) increase(this.#transitions.get(key));
    for (const transition of step._transitions) increase(this.#guards.get(guardOf(transition) ?? ''));
    if (active !== known) for (const node of active) increase(this.#states.get(node.id));
    this.#countRefusals(former, taken, (node) => candidates(node, step.event.type));
    this.#countRefusals(active, taken, (node) => node.always ?? []);
  };

  replayed(path: readonly unknown[]): void {
    this.#paths += 1;
    this.#steps += path.length;
  }

  /** The names of the states and transitions that no actor has gone through, and of guards that always gave the same answer. */
  uncovered(): readonly string[] {
    const states = [...this.#states.values()];
    const transitions = [...this.#transitions.values()];
    const guards = [...this.#guards.values()];
    return [
      ...[...states, ...transitions].filter(({ count }) => count === 0).map(({ name }) => name),
      ...guards.filter(({ count }) => count === 0).map(({ name }) => `[${name}] never holds`),
      ...guards.filter(({ refused }) => refused === 0).map(({ name }) => `[${name}] always holds`),
    ];
  }

  /** The names of the states in which no actor has been. */
  unvisited(): readonly string[] {
    return [...this.#states.values()].filter(({ count }) => count === 0).map(({ name }) => name);
  }

  /** Prints the report if the environment variable PATHS_REPORT is set. */
  print(where: string): void {
    if (process.env.PATHS_REPORT !== undefined) process.stdout.write(this.#report(where));
  }

  #report(where: string): string {
    const states = [...this.#states.values()];
    const transitions = [...this.#transitions.values()];
    const guards = [...this.#guards.values()];
    return [
      `${this.#machine.id}, ${where}: ${this.#paths} paths, ${this.#steps} steps`,
      `  ${covered(states)} states`,
      ...states.map(line),
      `  ${covered(transitions)} transitions`,
      ...transitions.map(line),
      `  ${covered(guards)} guards; how often each held, and did not`,
      ...guards.map((guard) => `${line(guard)}, ${guard.refused}`),
      '',
    ].join('\n');
  }

  /** Counts the guards that did not hold, from the inner states outwards, until one held. */
  #countRefusals(
    active: readonly AnyStateNode[],
    taken: ReadonlySet<string>,
    asked: (node: AnyStateNode) => readonly AnyTransitionDefinition[],
  ): void {
    const seen = new Set<AnyStateNode>();
    for (const leaf of active.filter(isLeaf)) {
      for (let node: AnyStateNode | undefined = leaf; node && !seen.has(node); node = node.parent) {
        seen.add(node);
        const transitions = asked(node);
        const held = transitions.findIndex((transition) => taken.has(keyOf(transition)));
        const refused = held === -1 ? transitions : transitions.slice(0, held);
        for (const transition of refused) {
          const guard = this.#guards.get(guardOf(transition) ?? '');
          if (guard) guard.refused += 1;
        }
        if (held !== -1) break;
      }
    }
  }
}

function nodesOf(node: AnyStateNode): readonly AnyStateNode[] {
  return [node, ...Object.values(node.states as Record<string, AnyStateNode>).flatMap(nodesOf)];
}

function initialLeaves(node: AnyStateNode): readonly AnyStateNode[] {
  if (isLeaf(node)) return [node];
  const entered = node.type === 'parallel' ? Object.values(node.states) : node.initial.target;
  return entered.flatMap((inner) => initialLeaves(inner as AnyStateNode));
}

function isLeaf({ type }: AnyStateNode): boolean {
  return type !== 'compound' && type !== 'parallel';
}

function candidates(node: AnyStateNode, eventType: string): readonly AnyTransitionDefinition[] {
  return [...node.transitions]
    .filter(([type]) => type === eventType || (type.endsWith('*') && eventType.startsWith(type.slice(0, -1))))
    .flatMap(([, transitions]) => transitions as AnyTransitionDefinition[]);
}

const DESCRIPTIONS = new WeakMap<AnyTransitionDefinition, string>();

/** `provide()` makes new transition objects. Equal ones have equal descriptions. */
function keyOf(transition: AnyTransitionDefinition): string {
  const known = DESCRIPTIONS.get(transition);
  if (known !== undefined) return known;
  const description = describe(transition);
  DESCRIPTIONS.set(transition, description);
  return description;
}

/** `Syncing.Working: SYNC_DONE [moreToDo] → Syncing.Working` */
function describe(transition: AnyTransitionDefinition): string {
  const { source, target = [] } = transition;
  const eventType: string = transition.eventType;
  const siblings = source.transitions.get(eventType) ?? [];
  const condition = guardOf(transition) ?? (siblings.length > 1 ? 'else' : undefined);
  const what = condition === undefined ? eventType : `${eventType} [${condition}]`.trim();
  return `${nameOf(source)}: ${what}${target.map((node: AnyStateNode) => ` → ${nameOf(node)}`).join()}`;
}

function guardOf({ guard }: AnyTransitionDefinition): string | undefined {
  if (guard === undefined || typeof guard === 'string') return guard;
  return (guard as { type?: string; name?: string }).type ?? (guard as { name?: string }).name;
}

/** `Syncing.Working` */
function nameOf({ path, id }: AnyStateNode): string {
  return path.length === 0 ? id : path.join('.');
}

function increase(counted: Counted | undefined): void {
  if (counted) counted.count += 1;
}

function covered(all: readonly Counted[]): string {
  return `${all.filter(({ count }) => count > 0).length} of ${all.length}`;
}

function line({ name, count }: Counted): string {
  return `${String(count).padStart(8)}  ${name}`;
}

/** Counts by key. */
export class Counts {
  readonly #counts = new Map<string, number>();

  add(key: string): void {
    this.#counts.set(key, this.of(key) + 1);
  }

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }
}
