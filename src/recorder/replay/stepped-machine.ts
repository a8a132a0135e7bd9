/**
 * A machine that is stepped without an actor: guards and assigns run as in production, effects do not. Its steps are emitted by the same feed as in
 * production, so that they can be compared with the record.
 */
import {
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  createActor,
  createMachine,
  type EventObject,
  type StateValue,
  transition,
} from 'xstate';
import { TransitionFeed } from '../../agent/actors/transitions.ts';
import type { TransitionKind } from '../../types/transition.ts';

/** One microstep. */
export interface Step {
  readonly kind: TransitionKind;
  readonly after: AnyMachineSnapshot;
}

const nothing = (): void => undefined;

export class Stepper {
  /** Of an actor that does nothing: machines that are stepped report their steps to its system. */
  readonly #host = createActor(createMachine({}));
  #steps: Step[] = [];

  constructor() {
    const feed = new TransitionFeed(this.#host, { now: () => 0 } as never);
    feed.subscribe((kind, _, __, { after }) => {
      this.#steps.push({ kind, after: after as unknown as AnyMachineSnapshot });
    });
  }

  /** What the event does to the machine, step by step. Throws what a guard or an assign throws. */
  step(snapshot: AnyMachineSnapshot, event: EventObject): readonly Step[] {
    this.#steps = [];
    const { system } = this.#host;
    // The feed remembers the snapshots of actors: this one has no past.
    const self = { id: '', sessionId: '', system, getSnapshot: () => snapshot, send: nothing };
    const scope: Partial<Record<keyof AnyActorScope, unknown>> = {
      self,
      system,
      id: '',
      sessionId: '',
      logger: nothing,
      defer: nothing,
      stopChild: nothing,
      emit: nothing,
      actionExecutor: nothing,
    };
    const machine = snapshot.machine as AnyStateMachine;
    machine.transition(snapshot, event, scope as never);
    return this.#steps;
  }
}

/** Undefined where the machine has no such state. */
export function snapshotOf(
  machine: AnyStateMachine,
  state: unknown,
  context: unknown,
): AnyMachineSnapshot | undefined {
  try {
    return machine.resolveState({ value: state as string, context });
  } catch {
    return undefined;
  }
}

/** The snapshot after a step that went to another state than the machine would: what it assigned then is assigned, too. */
export function afterRecorded(
  before: AnyMachineSnapshot,
  event: EventObject,
  { to, actions }: TransitionKind,
): AnyMachineSnapshot | undefined {
  const machine = before.machine as AnyStateMachine;
  const value = stateOfName(machine, to);
  if (value === undefined) return undefined;
  const known = machine.implementations.actions;
  const names = actions.filter((action) => Object.hasOwn(known, action));
  // A chart that does nothing but these actions. `transition` assigns, and carries out nothing.
  const acting: AnyStateMachine = createMachine({ on: { [event.type]: { actions: names } } });
  const provided = acting.provide({ actions: known });
  const resting = provided.resolveState({ value: {}, context: before.context });
  const [after] = transition(provided, resting, event) as readonly [AnyMachineSnapshot, unknown];
  return snapshotOf(machine, value, after.context);
}

/** The reverse of `stateName` in src/agent/actors/transitions.ts. Undefined where the chart has no such state. */
function stateOfName(machine: AnyStateMachine, name: string): StateValue | undefined {
  const reader = new NameReader(name);
  const value = reader.inside(machine.root);
  return reader.isAtEnd ? value : undefined;
}

class NameReader {
  #rest: string;

  constructor(name: string) {
    this.#rest = name;
  }

  get isAtEnd(): boolean {
    return this.#rest === '';
  }

  /** What is active in the state. */
  inside(node: AnyStateNode): StateValue | undefined {
    if (node.type !== 'parallel') {
      const child = this.#child(node);
      return child && this.#valueOf(child);
    }
    const regions: Record<string, StateValue> = {};
    for (const [index] of Object.keys(node.states).entries()) {
      if (index > 0 && !this.#skip(',')) return undefined;
      const region = this.#child(node);
      if (region === undefined) return undefined;
      const value = this.#skip('.') ? this.inside(region) : {};
      if (value === undefined) return undefined;
      regions[region.key] = value;
    }
    return regions;
  }

  #valueOf(node: AnyStateNode): StateValue | undefined {
    if (!this.#skip('.')) return node.key;
    const inner = this.inside(node);
    return inner === undefined ? undefined : { [node.key]: inner };
  }

  #child(node: AnyStateNode): AnyStateNode | undefined {
    const [key = ''] = /^[^.,]*/u.exec(this.#rest) ?? [];
    const child = Object.hasOwn(node.states, key) ? node.states[key] : undefined;
    if (child !== undefined) this.#rest = this.#rest.slice(key.length);
    return child;
  }

  #skip(mark: string): boolean {
    if (!this.#rest.startsWith(mark)) return false;
    this.#rest = this.#rest.slice(mark.length);
    return true;
  }
}
