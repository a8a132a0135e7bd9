/** Which parts of a chart are lit: the states of its actor, the states that can follow, and the line of the latest transition. */
import type { DrawnChart, DrawnEdge } from '../../types/page-views.ts';
import type { Transition } from '../../types/transition.ts';

/** The state and those around it, without the machine itself. */
export function around(state: string): readonly string[] {
  const parts = state.split('.');
  return state === '' ? [] : parts.map((_, index) => parts.slice(0, index + 1).join('.'));
}

export interface Light {
  /** States that the actor is in, with those around them. */
  readonly active: ReadonlySet<string>;
  /** States that the next transition can lead to, with those around them. */
  readonly next: ReadonlySet<string>;
}

export function lightOf(chart: DrawnChart, states: readonly string[]): Light {
  const active = new Set(states.flatMap(around));
  const isHere = (from: string) => from === '' || active.has(from);
  const targets = Object.entries(chart.leads).flatMap(([from, to]) => (isHere(from) ? to : []));
  const next = new Set(targets.flatMap((target) => entered(chart, target)).flatMap(around));
  return { active, next };
}

/** The innermost states that are entered with that one. */
export function entered(chart: DrawnChart, state: string): readonly string[] {
  const drawn = chart.states.find(({ id }) => id === state);
  if (drawn === undefined || drawn.first.length === 0) return [state];
  return drawn.first.flatMap((first) => entered(chart, first));
}

/** The lines that a transition has gone along: those of its event, or the first one into a state that its actor was not in. */
export function linesOf(chart: DrawnChart, { from, to, event }: Transition): readonly DrawnEdge[] {
  const sources = new Set(['', ...from.split(',').flatMap(around)]);
  const targets = new Set(to.split(',').flatMap(around));
  const between = chart.edges.filter((edge) => sources.has(edge.from) && targets.has(edge.to));
  const name = withoutPath(event);
  // The label of an actor's end names the actor as well: `done connect`.
  const isNamed = (label: string) => label === name || label.startsWith(`${name} `);
  const named = between.filter(({ labels }) => labels.some(({ text }) => text.split(/,\s*/u).some(isNamed)));
  if (named.length > 0) return named;
  return between.filter((edge) => !sources.has(edge.to) || edge.to === edge.from).slice(0, 1);
}

/** `after period` for `xstate.after.period.eviction.Schedule.Everything.Waiting`: the state is beside it. */
export function withoutPath(event: string): string {
  const delay = /^xstate\.after\.(?<name>[^.]+)\./u.exec(event)?.groups?.name;
  if (delay !== undefined) return `after ${delay}`;
  // The end of a request or a delay of a state.
  return event.replace(/^xstate\.(?<how>done|error)\.actor.*$/u, '$<how>');
}
