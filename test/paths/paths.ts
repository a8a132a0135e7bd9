/**
 * Paths through a production machine, found by xstate/graph. An environment says which events are possible in a state, so that
 * a path contains only what can happen to the actor.
 */
import {
  type AnyStateMachine,
  type EventFromLogic,
  initialTransition,
  type InputFrom,
  type SnapshotFrom,
  transition,
} from 'xstate';
import { getShortestPaths, getSimplePaths, type StatePath, type TraversalOptions } from 'xstate/graph';

/** Events by short names. */
export type Events<Machine extends AnyStateMachine> = Readonly<Record<string, EventFromLogic<Machine>>>;

/** The world of a machine: its input, the possible events, and which of its states count as equal. */
export interface Environment<Machine extends AnyStateMachine> {
  readonly machine: Machine;
  readonly input: InputFrom<Machine>;
  readonly events: Events<Machine>;
  /** The names of the events that are possible in that state. */
  readonly possible: (state: SnapshotFrom<Machine>) => readonly string[];
  /** Equal for states that count as equal. */
  readonly label: (state: SnapshotFrom<Machine>) => string;
}

export interface Step<Machine extends AnyStateMachine> {
  readonly name: string;
  readonly event: EventFromLogic<Machine>;
  readonly before: SnapshotFrom<Machine>;
  readonly after: SnapshotFrom<Machine>;
}

export type Path<Machine extends AnyStateMachine> = readonly Step<Machine>[];

/** A limit for the search for simple paths: their number grows much faster than the number of events. */
const STEPS_MAX = 2_000_000;

/** A shortest path to every state. */
export function shortestPathsToStates<Machine extends AnyStateMachine>(
  environment: Environment<Machine>,
): readonly Path<Machine>[] {
  return explore(environment, getShortestPaths, environment.label);
}

/** A shortest path to every possible event in every state, also if the event leads back to the same state. */
export function shortestPaths<Machine extends AnyStateMachine>(
  environment: Environment<Machine>,
): readonly Path<Machine>[] {
  const names = namesOf(environment.events);
  // xstate asks for a state again with each of its events.
  const label = rememberedLabel(environment);
  // xstate gives neither an event nor a previous state for the first step.
  const serializeState = (state: SnapshotFrom<Machine>, ...[event, before]: (object | undefined)[]) =>
    event && before
      ? [label(before as SnapshotFrom<Machine>), names.get(event), label(state)].join(' ')
      : label(state);
  return explore(environment, getShortestPaths, serializeState);
}

function rememberedLabel<Machine extends AnyStateMachine>({
  label,
}: Environment<Machine>): Environment<Machine>['label'] {
  const labels = new WeakMap<object, string>();
  return (state) => {
    const known = labels.get(state) ?? label(state);
    labels.set(state, known);
    return known;
  };
}

/** No joined path is longer, so that the story of a failure can be read. */
export const JOINED_STEPS_MAX = 40;

/**
 * Few paths that together have every possible event in every state: each goes on to the nearest event that no path has yet. Most shortest
 * paths have the same beginning, and to bring an actor there takes longer than the event. `alone`: events that can come only soon after the
 * start; their shortest paths are taken as they are.
 */
export function joinedPaths<Machine extends AnyStateMachine>(
  environment: Environment<Machine>,
  alone: readonly string[] = [],
): readonly Path<Machine>[] {
  const { machine, input, possible } = environment;
  const label = rememberedLabel(environment);
  const keyOf = ({ name, before, after }: Step<Machine>) => wayKey(label(before), name, label(after));
  const shortest = shortestPaths(environment);
  const missing = new Set(shortest.flat().map(keyOf));
  const ways = waysOf(shortest, label);
  const [start] = initialTransition(machine, input);
  /** Ends before an event that is not possible: states of one label may differ in that. */
  const stepsOf = (from: SnapshotFrom<Machine>, names: readonly string[]): Path<Machine> => {
    const steps: Step<Machine>[] = [];
    for (const name of names) {
      const before = steps.at(-1)?.after ?? from;
      if (!possible(before).includes(name)) break;
      steps.push(stepOf(environment, before, name));
    }
    return steps;
  };
  const nextPath = (): Path<Machine> => {
    const path: Step<Machine>[] = [];
    for (;;) {
      const before = path.at(-1)?.after ?? start;
      const way = wayToMissing(label(before), ways, missing, alone);
      if (way === undefined || path.length + way.length > JOINED_STEPS_MAX) return path;
      const steps = stepsOf(before, way);
      path.push(...steps);
      for (const step of steps) missing.delete(keyOf(step));
      if (steps.length < way.length) return path;
    }
  };
  const joined: Path<Machine>[] = [];
  for (let left = Infinity; missing.size < left;) {
    left = missing.size;
    const path = nextPath();
    if (missing.size < left) joined.push(path);
  }
  return [...joined, ...shortest.filter((path) => path.some((step) => missing.has(keyOf(step))))];
}

/** The events of each state, with the state to which each leads, by the labels of the states. */
type Ways = ReadonlyMap<string, ReadonlyMap<string, string>>;

const wayKey = (from: string, name: string, to: string) => [from, name, to].join(' ');

function waysOf<Machine extends AnyStateMachine>(
  paths: readonly Path<Machine>[],
  label: Environment<Machine>['label'],
): Ways {
  const ways = new Map<string, Map<string, string>>();
  for (const { name, before, after } of paths.flat()) {
    const ofState = ways.get(label(before)) ?? new Map<string, string>();
    ways.set(label(before), ofState.set(name, label(after)));
  }
  return ways;
}

/** The names of the events that lead from a state to the nearest missing one, with that; undefined if there is none. */
function wayToMissing(
  from: string,
  ways: Ways,
  missing: ReadonlySet<string>,
  alone: readonly string[],
): readonly string[] | undefined {
  const seen = new Set([from]);
  let reached: readonly { readonly at: string; readonly names: readonly string[] }[] = [
    { at: from, names: [] },
  ];
  while (reached.length > 0) {
    const further: { at: string; names: readonly string[] }[] = [];
    for (const { at, names } of reached) {
      for (const [name, to] of ways.get(at) ?? []) {
        if (alone.includes(name)) continue;
        if (missing.has(wayKey(at, name, to))) return [...names, name];
        if (!seen.has(to)) further.push({ at: to, names: [...names, name] });
        seen.add(to);
      }
    }
    reached = further;
  }
  return undefined;
}

/** Every path without circles that has only these events. */
export function simplePaths<Machine extends AnyStateMachine>(
  environment: Environment<Machine>,
  among: readonly string[],
): readonly Path<Machine>[] {
  const { possible, label } = environment;
  const bounded = {
    ...environment,
    possible: (state: SnapshotFrom<Machine>) => possible(state).filter((name) => among.includes(name)),
  };
  let steps = 0;
  const serializeState = (state: SnapshotFrom<Machine>) => {
    steps += 1;
    if (steps > STEPS_MAX) throw new Error(`there are too many paths among ${among.join(', ')}`);
    return label(state);
  };
  return explore(bounded, getSimplePaths, serializeState);
}

type FoundPath<Machine extends AnyStateMachine> = StatePath<SnapshotFrom<Machine>, EventFromLogic<Machine>>;
type Options<Machine extends AnyStateMachine> = TraversalOptions<
  SnapshotFrom<Machine>,
  EventFromLogic<Machine>,
  InputFrom<Machine>
>;

function explore<Machine extends AnyStateMachine>(
  environment: Environment<Machine>,
  find: typeof getShortestPaths,
  serializeState: NonNullable<Options<Machine>['serializeState']>,
): readonly Path<Machine>[] {
  const { machine, input, events, possible } = environment;
  const names = namesOf(events);
  const serializeEvent = (event: EventFromLogic<Machine>) => names.get(event) ?? String(event.type);
  const options: Options<Machine> = {
    input,
    serializeEvent,
    serializeState,
    events: (state) => possible(state).map((name) => eventOf(events, name)),
  };
  const paths = find(machine, options as never) as unknown as FoundPath<Machine>[];
  // The first step of xstate's paths is the start itself. The states in xstate's steps may be those of another path with equal
  // labels, so this computes the states again.
  // Most paths begin like others: their common steps are computed once.
  const [start] = initialTransition(machine, input);
  const known = new Map<SnapshotFrom<Machine>, Map<string, Step<Machine>>>();
  const knownStep = (before: SnapshotFrom<Machine>, event: EventFromLogic<Machine>): Step<Machine> => {
    const ofState = known.get(before) ?? new Map<string, Step<Machine>>();
    known.set(before, ofState);
    const name = serializeEvent(event);
    const step = ofState.get(name) ?? stepOf(environment, before, name);
    ofState.set(name, step);
    return step;
  };
  return withoutBeginnings(paths, serializeEvent).map(({ steps }) => {
    let before = start;
    return steps.slice(1).map(({ event }) => {
      const step = knownStep(before, event);
      before = step.after;
      return step;
    });
  });
}

/** The longest ones first. One that is the beginning of another one is left out: `TestModel` does the same, in quadratic time. */
function withoutBeginnings<Machine extends AnyStateMachine>(
  paths: readonly FoundPath<Machine>[],
  nameOf: (event: EventFromLogic<Machine>) => string,
): readonly FoundPath<Machine>[] {
  const beginnings = new Set<string>();
  return paths
    .toSorted((a, b) => b.steps.length - a.steps.length)
    .filter(({ steps }) => {
      const ways: string[] = [];
      for (const { event } of steps) ways.push(`${ways.at(-1) ?? ''}/${nameOf(event)}`);
      if (beginnings.has(ways.at(-1) ?? '')) return false;
      for (const way of ways) beginnings.add(way);
      return true;
    });
}

/** The step that the event of that name makes from a state. */
export function stepOf<Machine extends AnyStateMachine>(
  { machine, events }: Environment<Machine>,
  before: SnapshotFrom<Machine>,
  name: string,
): Step<Machine> {
  const event = eventOf(events, name);
  return { name, event, before, after: transition(machine, before, event)[0] };
}

function eventOf<Machine extends AnyStateMachine>(
  events: Events<Machine>,
  name: string,
): EventFromLogic<Machine> {
  const event = events[name];
  if (event === undefined) throw new Error(`the environment has no event "${name}"`);
  return event;
}

function namesOf(events: Readonly<Record<string, object>>): ReadonlyMap<object, string> {
  return new Map(Object.entries(events).map(([name, event]) => [event, name]));
}

/** The names of the events, in order, for error messages. */
export function story<Machine extends AnyStateMachine>(path: Path<Machine>): string {
  return path.map(({ name }) => name).join(' → ');
}
