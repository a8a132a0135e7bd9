/** The conditions PodResizePending and PodResizeInProgress. */
import type { PodCondition } from '../../../types/kubernetes.ts';

export interface ResizeConditions {
  /** The node has not granted the resize. */
  readonly pending?: PodCondition;
  /** The resize is being carried out. */
  readonly inProgress?: PodCondition;
}

interface ResizeNews {
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
}

const PENDING = 'PodResizePending';
const IN_PROGRESS = 'PodResizeInProgress';
const INFEASIBLE = 'Infeasible';
const DEFERRED = 'Deferred';
/** The reason of a change whose last try failed. */
export const RESIZE_FAILED = 'Error';

/** Pending first. */
export function listedConditions({ pending, inProgress }: ResizeConditions): readonly PodCondition[] {
  return [pending, inProgress].filter((condition) => condition !== undefined);
}

export function isInfeasible({ pending }: ResizeConditions): boolean {
  return pending?.reason === INFEASIBLE;
}

export function isDeferred({ pending }: ResizeConditions): boolean {
  return pending?.reason === DEFERRED;
}

export function hasFailed({ inProgress }: ResizeConditions): boolean {
  return inProgress?.reason === RESIZE_FAILED;
}

/** Whether they differ at most in their probe times. */
export function isAsBefore(before: ResizeConditions, after: ResizeConditions): boolean {
  return isSame(before.pending, after.pending) && isSame(before.inProgress, after.inProgress);
}

function isSame(one: PodCondition | undefined, other: PodCondition | undefined): boolean {
  return (
    one?.reason === other?.reason &&
    one?.message === other?.message &&
    one?.observedGeneration === other?.observedGeneration
  );
}

/**
 * The conditions that an earlier agent wrote into the status of the pod, with the present time. Of two of a type the last one
 * counts.
 */
export function withWritten(
  conditions: ResizeConditions,
  written: readonly PodCondition[] = [],
  now: string,
): ResizeConditions {
  const taken = (type: string) => {
    const found = written.findLast((condition) => condition.type === type);
    return found && { ...found, status: 'True', lastProbeTime: now, lastTransitionTime: now };
  };
  const [pending, inProgress] = [taken(PENDING), taken(IN_PROGRESS)];
  return { ...conditions, ...(pending && { pending }), ...(inProgress && { inProgress }) };
}

/** A new message alone does not change the transition time. */
export function withPending(
  conditions: ResizeConditions,
  { reason: asked, message, observedGeneration }: ResizeNews,
  now: string,
): { readonly conditions: ResizeConditions; readonly changed: boolean } {
  const reason = asked === INFEASIBLE ? INFEASIBLE : DEFERRED;
  const former = conditions.pending;
  const pending = stamped(
    former,
    { type: PENDING, status: 'True', observedGeneration, reason, message },
    now,
  );
  const changed = former?.reason !== reason || former.observedGeneration !== observedGeneration;
  return { conditions: { ...conditions, pending }, changed };
}

/** A condition in progress keeps its generation; without a new reason and message it keeps these too. */
export function withInProgress(
  conditions: ResizeConditions,
  news: ResizeNews,
  now: string,
): { readonly conditions: ResizeConditions; readonly changed: boolean } {
  const former = conditions.inProgress;
  const { reason, message } = news.reason === '' && news.message === '' ? (former ?? news) : news;
  const { observedGeneration } = former ?? news;
  const inProgress = stamped(
    former,
    {
      type: IN_PROGRESS,
      status: 'True',
      observedGeneration,
      ...(reason && { reason }),
      ...(message && { message }),
    },
    now,
  );
  const changed =
    former === undefined ||
    (former.reason ?? '') !== (inProgress.reason ?? '') ||
    (former.message ?? '') !== (inProgress.message ?? '');
  return { conditions: { ...conditions, inProgress }, changed };
}

export function withoutPending({ inProgress }: ResizeConditions): ResizeConditions {
  return { inProgress };
}

export function withoutInProgress({ pending }: ResizeConditions): ResizeConditions {
  return { pending };
}

/** The transition time changes with the reason. */
function stamped(former: PodCondition | undefined, condition: PodCondition, now: string): PodCondition {
  const isSame = former !== undefined && (former.reason ?? '') === (condition.reason ?? '');
  const since = isSame ? former.lastTransitionTime : now;
  return { ...condition, lastProbeTime: now, lastTransitionTime: since };
}
