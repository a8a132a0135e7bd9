/** The texts about a preemption: on the victims and on the preemptor in the kubelet's words, and in the log in ours. */
import type { MissingResource } from '../admission/rejection.ts';
import type { KillPodOptions } from '../termination/pod-termination.ts';
import type { PreemptionDecision, Victim } from './victims.ts';

/** The reason of the event on a victim, and in its status. */
export const PREEMPTING = 'Preempting';
export const PREEMPTING_MESSAGE = 'Preempted in order to admit critical pod';

/** How a victim is killed: within its own grace period. */
export const PREEMPTION_KILL: KillPodOptions = {
  evict: true,
  podStatus: {
    phase: 'Failed',
    reason: PREEMPTING,
    message: PREEMPTING_MESSAGE,
    conditions: [
      {
        type: 'DisruptionTarget',
        status: 'True',
        reason: 'TerminationByKubelet',
        message: 'Pod was preempted by Kubelet to accommodate a critical pod.',
      },
    ],
  },
};

/** Why no pod is preempted; undefined where victims were found. */
export function preemptionError({ unmet }: PreemptionDecision): string | undefined {
  if (unmet.length === 0) return undefined;
  const amounts = unmet.map(({ resource, amount }) => `(res: ${resource}, q: ${amount}), `).join('');
  return `preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [${amounts}]`;
}

/** The label of the counter of preemptions: the first resource that is missing. */
export function preemptionCounterResource({ missing }: PreemptionDecision): string {
  return missing[0]?.resource ?? '';
}

/** The decision in one line: what was missing, how many candidates there were, and the victims with their figures. */
export function describePreemption({ missing, candidates, victims, unmet }: PreemptionDecision): string {
  const among = `among ${candidates.length} ${candidates.length === 1 ? 'candidate' : 'candidates'}`;
  if (unmet.length > 0) return `missing ${amounts(missing)}; ${among} nothing frees ${amounts(unmet)}`;
  const chosen = victims.length === 0 ? 'no pod has to end' : describeVictims(victims);
  return `missing ${amounts(missing)}; ${among}: ${chosen}`;
}

/** In the order in which they end, with their figures. */
export function describeVictims(victims: readonly Victim[]): string {
  return victims.map(describeVictim).join(', ');
}

function describeVictim({ candidate, distance }: Victim): string {
  const { namespace, name, qosClass, priority } = candidate;
  return `${namespace}/${name} (${qosClass}, priority ${priority}, distance ${Number(distance.toFixed(3))})`;
}

/** What was missing when the victims were chosen: `cpu=300m`. Empty if nothing was missing. */
export function describeMissing(decision: PreemptionDecision | undefined): string {
  return decision === undefined || decision.missing.length === 0 ? '' : amounts(decision.missing);
}

function amounts(missing: readonly MissingResource[]): string {
  if (missing.length === 0) return 'nothing';
  return missing
    .map(({ resource, amount }) => `${resource}=${amount}${resource === 'cpu' ? 'm' : ''}`)
    .join(' ');
}
