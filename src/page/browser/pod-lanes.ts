/** All lanes of a pod. */
import type { HealthKind, PodView } from '../../types/page-views.ts';
import type { Transition } from '../../types/transition.ts';
import { containerLanes, type Run } from './container-lanes.ts';
import { stateKind } from './health-view.ts';
import { actorLanes, eventLane, isUsed, type Lane, type Span } from './lanes.ts';
import { probeLanes } from './probe-lanes.ts';

export interface LaneFacts {
  /** As it was last. */
  readonly last: PodView | undefined;
  /** The newest first. */
  readonly transitions: readonly Transition[];
  /** Of the containers, as far as they were seen. */
  readonly runs: readonly Run[];
  /** Of the pod, now. */
  readonly health?: HealthKind;
}

export function podLanes({ last: pod, transitions, runs, health }: LaneFacts): readonly Lane[] {
  const ordered = transitions.toReversed();
  return [
    ...stateLanes(ordered, pod, health),
    resizeLane(ordered, pod),
    ...containerLanes(pod, runs, health),
    ...probeLanes(ordered, pod, runs),
    ...(pod === undefined ? [] : [eventLane(pod.events)]),
  ].filter(isUsed);
}

/** The states of the pod's newest actor: an earlier pod may have had the same name. */
function stateLanes(
  ordered: readonly Transition[],
  pod: PodView | undefined,
  health: HealthKind | undefined,
): readonly Lane[] {
  const own = ordered.filter(({ chart }) => chart === 'pod');
  const actor = own.findLast((one) => pod === undefined || one.actor.includes(pod.row.uid))?.actor;
  // The end has the health of the pod: the chart does not say how the pod has ended.
  const ended = health === 'failed' || health === 'done' ? health : undefined;
  const kindOf = (state: string) => {
    const kind = stateKind(state);
    return kind === 'calm' && state.startsWith('Terminated') ? (ended ?? kind) : kind;
  };
  return actorLanes(
    own.filter((one) => one.actor === actor),
    kindOf,
    pod?.row,
  );
}

/** The time in which a resize waits, is carried out or fails. */
function resizeLane(ordered: readonly Transition[], pod: PodView | undefined): Lane {
  const own = ordered.filter(
    ({ chart, actor, from, to }) =>
      chart === 'resize' && from !== to && (pod === undefined || actor.includes(pod.row.uid)),
  );
  const spans = own.flatMap(({ atMs, to }, index) => {
    const open = to.split(',').filter((part) => !RESIZED.includes(part));
    if (open.length === 0) return [];
    const kind: Span['kind'] = open.some((part) => /Infeasible|Failing/u.test(part))
      ? 'attention'
      : open.includes('Actuation.InProgress')
        ? 'starting'
        : 'wait';
    return [{ fromMs: atMs, toMs: own[index + 1]?.atMs, kind, text: open.join(', ') }];
  });
  return { name: 'resize', spans, marks: [] };
}

const RESIZED: readonly string[] = ['Request.Granted', 'Actuation.Actuated'];
