/** The context, the events and the tags of a pod's chart. */
import type { Rejection } from '../policies/admission/rejection.ts';
import { roomDelay, runtimeDelay, type StartDelay } from '../policies/admission/start-delay.ts';
import {
  effectiveGracePeriodSeconds,
  type EndStatus,
  type KillPodOptions,
  type PodStatusOverride,
} from '../policies/termination/pod-termination.ts';
import type { ResyncReason } from '../policies/pod-actions/back-off.ts';
import type { Pod } from '../../types/kubernetes.ts';

/** What the runtime held of a pod when it was last read: nothing, only ended containers, or something that runs. */
export type RuntimeHolds = 'nothing' | 'ended' | 'running';

export interface PodInput {
  readonly uid: string;
  /** `name_namespace`. */
  readonly fullName: string;
  /** When this actor was spawned. */
  readonly runtimeHolds: RuntimeHolds;
}

export interface PodContext extends PodInput {
  /** The newest version seen; undefined for a pod that only the runtime knows. */
  readonly pod: Pod | undefined;
  /** Why the pod has not been started yet; undefined where nothing delays it. */
  readonly delay: StartDelay | undefined;
  /** Why the pod may never run on this node. */
  readonly rejection: Rejection | undefined;
  /** An update has come since the effect in flight began. */
  readonly updatePending: boolean;
  readonly lastOutcome: ResyncReason;
  /** Seconds; undefined until the pod is told to end. Never grows (I4). */
  readonly gracePeriodSeconds: number | undefined;
  readonly statusOverride: PodStatusOverride | undefined;
  readonly evicted: boolean;
  /** The same UID was asked for again while this incarnation was ending. */
  readonly restartRequested: boolean;
}

export type PodEvent =
  | { readonly type: 'SyncPodCreate'; readonly pod: Pod }
  | { readonly type: 'SyncPodUpdate'; readonly pod: Pod }
  /** `pod`: with another status at the API server, such as that of a readiness gate. */
  | { readonly type: 'SyncPodSync'; readonly pod?: Pod }
  | { readonly type: 'SyncPodKill'; readonly pod?: Pod; readonly options?: KillPodOptions }
  | { readonly type: 'RUNTIME_READY' }
  | { readonly type: 'RUNTIME_NOT_READY'; readonly problem: string }
  | { readonly type: 'REMOVING' }
  /** Nothing of an earlier pod of this UID is being removed any more. */
  | { readonly type: 'REMOVED' }
  | { readonly type: 'NAME_GRANTED' }
  | { readonly type: 'NAME_TAKEN'; readonly delay: StartDelay }
  | { readonly type: 'ADMITTED' }
  /** The pod lacks only resources, and pods may be ended for it. */
  | ({ readonly type: 'SHORT' } & Rejection)
  /** Pods are ending to make room for this one. */
  | { readonly type: 'PREEMPTING'; readonly delay: StartDelay }
  /** `lack`: what the pod lacks, where it lacks only room and would fit once other pods have ended. */
  | ({ readonly type: 'REJECTED'; readonly lack?: Rejection } & Rejection)
  /** There may be room now. */
  | { readonly type: 'ROOM_FREED' }
  /**
   * `again`: after the effect the runtime shows that there is more to do, apart from what has just failed. `status`: of a pod that has run
   * to its end; the chart decides nothing by it, the flight recorder keeps it.
   */
  | {
      readonly type: 'SYNC_DONE';
      readonly terminal: boolean;
      readonly again: boolean;
      readonly status?: EndStatus;
    }
  | { readonly type: 'SYNC_FAILED'; readonly reason: ResyncReason; readonly again: boolean }
  | { readonly type: 'STOP_DONE' }
  | { readonly type: 'STOP_FAILED' }
  | { readonly type: 'CLEANUP_DONE'; readonly status?: EndStatus }
  | { readonly type: 'CLEANUP_FAILED' }
  | { readonly type: 'AT_REST' };

/** What other parts may ask about a pod: a state has the tag if the answer is yes. */
export type PodTag =
  | 'couldHaveRunningContainers'
  /** The pod may not start yet. */
  | 'starting'
  | 'terminationRequested'
  | 'containersTerminating'
  | 'terminated'
  | 'finished'
  /** An effect is in flight: the pod is on its way to another state. */
  | 'atWork';

export function initialContext({ input }: { input: PodInput }): PodContext {
  return {
    ...input,
    pod: undefined,
    delay: undefined,
    rejection: undefined,
    updatePending: false,
    lastOutcome: { kind: 'synced' },
    gracePeriodSeconds: undefined,
    statusOverride: undefined,
    evicted: false,
    restartRequested: false,
  };
}

/** Why the pod is not started now, where the event says so. */
export function delayOf(event: PodEvent): StartDelay | undefined {
  if ('delay' in event) return event.delay;
  if (event.type === 'RUNTIME_NOT_READY') return runtimeDelay(event.problem);
  return event.type === 'REJECTED' && event.lack !== undefined ? roomDelay(event.lack) : undefined;
}

/** The grace period in seconds after this event. */
export function gracePeriodAfter(context: PodContext, event: PodEvent): number {
  const pod = 'pod' in event ? (event.pod ?? context.pod) : context.pod;
  const options = event.type === 'SyncPodKill' ? event.options : undefined;
  return effectiveGracePeriodSeconds(
    context.gracePeriodSeconds,
    pod,
    options?.podTerminationGracePeriodSecondsOverride,
  );
}
