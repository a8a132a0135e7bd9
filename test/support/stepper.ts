import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type EventFromLogic,
  initialTransition,
  type InputFrom,
  type SnapshotFrom,
  transition,
} from 'xstate';

/** The names of the machine's own actions and of its requests. xstate's other actions (assign, raise, cancel) are left out. */
function asked(actions: readonly { readonly type: string; readonly params?: unknown }[]): string[] {
  return actions
    .map(({ type, params }) => (type === 'xstate.spawnChild' ? (params as { src: string }).src : type))
    .filter((name) => !name.startsWith('xstate.'));
}

/** Steps a machine by pure transitions. The context is frozen: a machine that writes into it fails. */
export class Stepper<Machine extends AnyStateMachine> {
  readonly #machine: Machine;
  #snapshot: AnyMachineSnapshot;
  /** The actions of the last step. */
  asked: string[] = [];

  constructor(machine: Machine, input: InputFrom<Machine>) {
    this.#machine = machine;
    const [snapshot, actions] = initialTransition(machine, input);
    this.#snapshot = snapshot;
    this.asked = asked(actions);
  }

  send(...events: EventFromLogic<Machine>[]): this {
    for (const event of events) {
      const [next, actions] = transition(this.#machine, this.#snapshot as SnapshotFrom<Machine>, event);
      this.#snapshot = next as AnyMachineSnapshot;
      Object.freeze(this.#snapshot.context);
      this.asked = asked(actions);
    }
    return this;
  }

  /** `Syncing.Settled`. */
  get state(): string {
    return path(this.#snapshot.value as object | string);
  }

  get context(): SnapshotFrom<Machine>['context'] {
    return this.#snapshot.context as SnapshotFrom<Machine>['context'];
  }

  hasTag(tag: string): boolean {
    return this.#snapshot.hasTag(tag);
  }
}

function path(value: object | string): string {
  if (typeof value === 'string') return value;
  return Object.entries(value)
    .map(([state, inner]) => `${state}.${path(inner as object | string)}`)
    .join(' ');
}
