import { rfc3339 } from '../../src/agent/policies/formats/time.ts';
import {
  forbiddenTransition,
  normalizedStatus,
  withObservedGeneration,
} from '../../src/agent/policies/cluster/status-versions.ts';
import { equalStatuses, servedPodStatus } from '../../src/agent/policies/cluster/served-pod-status.ts';
import { mergedStatus } from '../../src/agent/policies/cluster/merged-status.ts';
import {
  hasPodInitialized,
  needsReadinessSync,
  withTransitionTimes,
} from '../../src/agent/policies/status/status-changes.ts';
import { canBeDeleted, needsReconcile } from '../../src/agent/policies/cluster/status-write.ts';
import type { PodStatus } from '../../src/types/kubernetes.ts';
import { type ResizeStep, ResizeStory } from '../support/resize-story.ts';
import {
  type LoosePod,
  podManager,
  StatusStory,
  type StoryInput,
  type StoryStep,
  wholePod,
} from '../support/status-story.ts';
import { firstDifference, type VectorAdapter } from '../support/vectors.ts';

interface TwoStatuses {
  readonly oldStatus: PodStatus;
  readonly newStatus: PodStatus;
}

interface OfPod {
  readonly pod: LoosePod;
}

interface Merge extends TwoStatuses, OfPod {
  readonly couldHaveRunningContainers: boolean;
  readonly now: number;
}

interface Reconcile extends OfPod {
  readonly podKnown: boolean;
  readonly mirrorPod: LoosePod | null;
  readonly status: PodStatus;
}

/** By `fn`. */
const POLICIES = {
  mergePodStatus({ pod, oldStatus, newStatus, couldHaveRunningContainers, now }: Merge) {
    const merge = { served: oldStatus, status: newStatus, couldHaveRunningContainers };
    return { status: servedPodStatus(mergedStatus({ ...merge, pod: wholePod(pod), now: time(now) })) };
  },
  isPodStatusByKubeletEqual: ({ oldStatus, newStatus }: TwoStatuses) => ({
    equal: equalStatuses(oldStatus, newStatus),
  }),
  normalizeStatus: ({ pod, status }: OfPod & { readonly status: PodStatus }) => ({
    status: servedPodStatus(normalizedStatus(wholePod(pod), status)),
  }),
  needsReconcile({ pod, podKnown, mirrorPod, status }: Reconcile) {
    const known = wholePod(pod);
    const pods = podManager(podKnown ? known : undefined, mirrorPod ? wholePod(mirrorPod) : undefined);
    return { needsReconcile: needsReconcile(known.metadata.uid, { status }, pods) };
  },
  checkContainerStateTransition(input: TwoStatuses & { readonly podSpec: LoosePod['spec'] & object }) {
    const pod = wholePod({ spec: input.podSpec });
    return { error: forbiddenTransition(pod, input.oldStatus, input.newStatus) ?? null };
  },
  hasPodInitialized: ({ pod }: OfPod) => ({ initialized: hasPodInitialized(wholePod(pod)) }),
  updateLastTransitionTime(input: TwoStatuses & { readonly conditionType: string; readonly now: number }) {
    const { newStatus, oldStatus, conditionType, now } = input;
    const timed = withTransitionTimes(newStatus, oldStatus, [conditionType], time(now));
    return { status: servedPodStatus(timed) };
  },
  canBeDeleted: ({ pod, podIsFinished }: OfPod & { readonly podIsFinished: boolean }) => ({
    canBeDeleted: canBeDeleted(wholePod(pod), podIsFinished),
  }),
  observedGeneration({ pod }: OfPod) {
    const { observedGeneration = 0 } = withObservedGeneration(wholePod(pod), {});
    return { status: observedGeneration, condition: observedGeneration };
  },
  needToReconcilePodReadiness: ({ pod }: OfPod) => ({ needed: needsReadinessSync(wholePod(pod)) }),
  resizeConditions: ({ now, steps }: { readonly now: number; readonly steps: readonly ResizeStep[] }) => ({
    steps: new ResizeStory(now).run(steps),
  }),
  manager: (input: StoryInput & { readonly steps: readonly StoryStep[] }) => ({
    steps: new StatusStory(input).run(input.steps),
  }),
};

export const adapter: VectorAdapter = {
  adapt(input: { readonly fn: keyof typeof POLICIES }) {
    return POLICIES[input.fn](input as never);
  },
  matches(got, want, { fn }: { readonly fn: string }) {
    const [ours, theirs] = fn === 'manager' ? [got, want].map(withoutDisruptionTimes) : [got, want];
    return firstDifference(ours, theirs) === undefined;
  },
};

function time(unixSeconds: number): string {
  return rfc3339(unixSeconds * 1000);
}

interface Cached {
  readonly status: PodStatus;
}

/**
 * When the kubelet writes a DisruptionTarget, the write sets its time in the cached status too; the vectors show that in the cached
 * statuses of earlier steps. Nothing else sees that time.
 */
function withoutDisruptionTimes(answer: unknown): unknown {
  const { steps } = answer as { readonly steps: readonly { readonly cached?: Cached | null }[] };
  return steps.map((step) => ({ ...step, cached: step.cached && withoutDisruptionTime(step.cached) }));
}

function withoutDisruptionTime({ status, ...entry }: Cached): object {
  const conditions = status.conditions?.map((condition) =>
    condition.type === 'DisruptionTarget' ? { ...condition, lastTransitionTime: undefined } : condition,
  );
  return { ...entry, status: { ...status, conditions } };
}
