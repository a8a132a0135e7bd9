/**
 * The transitions of all actors of a system, for the flight recorder and the page. Without a listener nothing is inspected. Each transition is
 * emitted after its actions have run, so a transition that an action caused in another actor comes before it.
 */
import type {
  AnyActorRef,
  AnyStateMachine,
  AnyStateNode,
  AnyTransitionDefinition,
  InspectionEvent,
  StateValue,
  Subscription,
} from 'xstate';
import type { Clock } from '../../types/clock.ts';
import type { ActorSnapshot, ActorStep, TransitionKind, TransitionListener } from '../../types/transition.ts';

/** What is read of the snapshot of a machine. */
interface SeenSnapshot extends ActorSnapshot {
  readonly value: StateValue;
  readonly machine: AnyStateMachine;
}

/** What the transitions of this event between these states have in common. */
interface KnownKind {
  readonly eventType: string;
  readonly from: StateValue;
  readonly to: StateValue;
  /** Undefined where nothing changes and no action runs. */
  readonly kind: TransitionKind | undefined;
}

type Actor = InspectionEvent['actorRef'];
type Microstep = InspectionEvent & { readonly type: '@xstate.microstep' };

const OF_XSTATE = 'xstate.';
/** XState puts the id of the child into the types of these events. */
const OF_CHILD = ['xstate.done.actor', 'xstate.error.actor', 'xstate.snapshot.actor'];
const ERROR_OF_CHILD = 'xstate.error.actor.';

export class TransitionFeed {
  readonly #root: AnyActorRef;
  readonly #clock: Clock;
  readonly #listeners = new Set<TransitionListener>();
  /**
   * The actors that are handling an event. An action of each one has sent the event of the next. Their `getSnapshot` is still from before the event.
   */
  readonly #atWork: { readonly actor: Actor; snapshot: SeenSnapshot }[] = [];
  readonly #kinds = new WeakMap<object, KnownKind[]>();
  #inspection: Subscription | undefined;

  constructor(root: AnyActorRef, clock: Clock) {
    this.#root = root;
    this.#clock = clock;
  }

  /** Calls the listener with each transition, until the returned function is called. The listener must not throw. */
  subscribe(listener: TransitionListener): () => void {
    this.#listeners.add(listener);
    this.#inspection ??= this.#root.system.inspect(this.#hear);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#inspection?.unsubscribe();
      this.#inspection = undefined;
      this.#atWork.length = 0;
    };
  }

  readonly #hear = (event: InspectionEvent): void => {
    if (event.type === '@xstate.microstep') {
      if (event._transitions.length > 0) this.#step(event);
    } else if (event.type === '@xstate.snapshot') {
      this.#atRest(event.actorRef);
    } else if (event.type === '@xstate.event' && event.sourceRef !== undefined) {
      if (event.event.type.startsWith(ERROR_OF_CHILD)) this.#fail(event.sourceRef, event.event);
    }
  };

  #step({ actorRef, event, snapshot, _transitions: transitions }: Microstep): void {
    const after = snapshot as unknown as SeenSnapshot;
    const atWork = this.#find(actorRef);
    const before = atWork?.snapshot ?? restingSnapshot(actorRef) ?? initialSnapshot(after);
    if (atWork === undefined) this.#atWork.push({ actor: actorRef, snapshot: after });
    else atWork.snapshot = after;
    const kind = this.#kindOf(transitions, eventTypeOf(event.type), before, after);
    if (kind !== undefined) this.#notify(kind, actorRef, { event, before, after });
  }

  /** An error in a guard or an action has ended the actor: there is no step to tell of. */
  #fail(actor: Actor, event: ActorStep['event']): void {
    const before = this.#find(actor)?.snapshot ?? restingSnapshot(actor);
    this.#atRest(actor);
    if (before === undefined || !('machine' in before)) return;
    const { value, machine } = before;
    const kind = {
      chart: machine.id,
      event: 'xstate.error',
      from: stateName(value),
      to: 'error',
      actions: [],
    };
    this.#notify(kind, actor, { event, before, after: before });
  }

  /** A plain loop: `find` would make a function for each step. */
  #find(actor: Actor): { snapshot: SeenSnapshot } | undefined {
    for (const one of this.#atWork) if (one.actor === actor) return one;
    return undefined;
  }

  /** Those after it have ended their events before it. */
  #atRest(actor: Actor): void {
    if (this.#find(actor) === undefined) return;
    while (this.#atWork.pop()?.actor !== actor);
  }

  #kindOf(
    transitions: readonly AnyTransitionDefinition[],
    eventType: string,
    before: SeenSnapshot,
    after: SeenSnapshot,
  ): TransitionKind | undefined {
    const [only] = transitions;
    // Transitions of several regions at once are rare.
    if (only === undefined || transitions.length > 1) return kindOf(transitions, eventType, before, after);
    const [from, to] = [before.value, after.value];
    let known = this.#kinds.get(only);
    if (known === undefined) this.#kinds.set(only, (known = []));
    for (const one of known) {
      if (one.eventType === eventType && isSame(one.from, from) && isSame(one.to, to)) return one.kind;
    }
    const kind = kindOf(transitions, eventType, before, after);
    known.push({ eventType, from, to, kind });
    return kind;
  }

  #notify(kind: TransitionKind, actor: Actor, step: ActorStep): void {
    const { id } = actor as AnyActorRef;
    const atMs = this.#clock.now();
    for (const listener of this.#listeners) listener(kind, id, atMs, step);
  }
}

function eventTypeOf(type: string): string {
  if (!type.startsWith(OF_XSTATE)) return type;
  return OF_CHILD.find((start) => type.startsWith(`${start}.`)) ?? type;
}

/** Undefined while the actor is being made. */
function restingSnapshot(actor: Actor): SeenSnapshot | undefined {
  return (actor as AnyActorRef).getSnapshot() as SeenSnapshot | undefined;
}

/** The snapshot with which the actor was made: XState emits only the steps that follow it at once. */
function initialSnapshot({ machine, context }: SeenSnapshot): SeenSnapshot {
  return machine.resolveState({ value: {}, context });
}

/** Of states of the same machine: a state has the same regions in both. */
function isSame(one: StateValue, other: StateValue): boolean {
  if (one === other) return true;
  if (typeof one === 'string' || typeof other === 'string') return false;
  for (const state in one) {
    const [inner, otherInner] = [one[state], other[state]];
    if (inner === undefined || otherInner === undefined || !isSame(inner, otherInner)) return false;
  }
  return true;
}

/** `Syncing.Settled`; regions of a parallel state with commas between. */
export function stateName(value: StateValue): string {
  if (typeof value === 'string') return value;
  let name = '';
  for (const state in value) {
    const inner = value[state] ?? '';
    const path = inner === '' ? state : `${state}.${stateName(inner)}`;
    name = name === '' ? path : `${name},${path}`;
  }
  return name;
}

/** The machine itself and all of its states that are active. */
export function activeNodes({ machine, value }: Pick<SeenSnapshot, 'machine' | 'value'>): AnyStateNode[] {
  return withActive(machine.root as AnyStateNode, value);
}

function withActive(node: AnyStateNode, value: StateValue): AnyStateNode[] {
  const inner = typeof value === 'string' ? { [value]: {} } : value;
  const active = [node];
  for (const state of Object.values(node.states as Readonly<Record<string, AnyStateNode>>)) {
    const further = inner[state.key];
    if (further !== undefined) active.push(...withActive(state, further));
  }
  return active;
}

function kindOf(
  transitions: readonly AnyTransitionDefinition[],
  eventType: string,
  before: SeenSnapshot,
  after: SeenSnapshot,
): TransitionKind | undefined {
  const from = stateName(before.value);
  const to = stateName(after.value);
  const actions = transitions.flatMap((transition) => actionsOf(transition, before, after));
  if (from === to && actions.length === 0) return undefined;
  const guard = transitions.flatMap((transition) => namesOf([transition.guard])).join();
  return {
    chart: after.machine.id,
    event: eventType,
    from,
    to,
    ...(guard !== '' && { guard }),
    actions,
  };
}

/** In the order in which they run: those of the states that are left, of the transition, of the states that are entered. */
function actionsOf(
  transition: AnyTransitionDefinition,
  before: SeenSnapshot,
  after: SeenSnapshot,
): readonly string[] {
  const own = namesOf(transition.actions);
  if (!transition.target?.length) return own;
  const domain = domainOf(transition);
  const isInside = (node: AnyStateNode) => domain === undefined || isWithin(node.parent, domain);
  const left = activeNodes(before)
    .filter(isInside)
    .sort((a, b) => b.order - a.order);
  const entered = activeNodes(after)
    .filter(isInside)
    .sort((a, b) => a.order - b.order);
  return [
    ...left.flatMap((node) => namesOf(node.exit)),
    ...own,
    ...entered.flatMap((node) => namesOf(node.entry)),
  ];
}

/** The innermost state that is neither left nor entered; undefined where the whole machine is left and entered. */
function domainOf({ source, target = [], reenter }: AnyTransitionDefinition): AnyStateNode | undefined {
  const isInner = (node: AnyStateNode) => isWithin(node, source);
  if (!reenter && target.every(isInner)) return source;
  let domain = source.parent;
  while (domain !== undefined) {
    const around = domain;
    if (target.every((node: AnyStateNode) => isWithin(node.parent, around))) break;
    domain = domain.parent;
  }
  return domain;
}

function isWithin(node: AnyStateNode | undefined, outer: AnyStateNode): boolean {
  for (let at = node; at !== undefined; at = at.parent) if (at === outer) return true;
  return false;
}

/** Functions without a name in the chart are left out. */
function namesOf(implementations: readonly unknown[]): string[] {
  return implementations.flatMap((one) => {
    if (typeof one === 'string') return [one];
    const type = typeof one === 'object' && one !== null && 'type' in one ? one.type : undefined;
    return typeof type === 'string' ? [type] : [];
  });
}

export type NodeTransitions = Pick<TransitionFeed, 'subscribe'>;

/** Of all actors of the node: a few run before the supervisor does, and are of other systems. `roots`: the first actors of their systems. */
export function nodeTransitions(roots: readonly AnyActorRef[], clock: Clock): NodeTransitions {
  const feeds = roots.map((root) => new TransitionFeed(root, clock));
  return {
    subscribe: (listener) => {
      const ends = feeds.map((feed) => feed.subscribe(listener));
      return () => {
        for (const end of ends) end();
      };
    },
  };
}
