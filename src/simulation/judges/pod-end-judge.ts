/** Checks the ends of pods: a reason to end, released volumes, and the right final status. */
import type { PodEvent } from '../../agent/machines/pod-machine.ts';
import { isEnding } from '../../agent/policies/termination/pod-termination.ts';
import type { Pod, PodStatus } from '../../types/kubernetes.ts';
import { goesOnForever } from '../plan/pod-specs.ts';
import type { AdmissionJudge } from './admission-judge.ts';
import type { LifecycleJudge } from './lifecycle-judge.ts';

export interface PodEndJudgeOptions {
  readonly lifecycle: Pick<LifecycleJudge, 'ordersOf'>;
  readonly admission: Pick<AdmissionJudge, 'hasReasonToEnd' | 'record'>;
  /** The pod that the sources want under that name. */
  readonly wantedPod: (name: string) => Pod | undefined;
  /** Whether the pod was killed, or the sources have ever asked for its end. */
  readonly wasAskedToEnd: (uid: string) => boolean;
  readonly statusOf: (uid: string) => PodStatus | undefined;
  /** Whether a source has the pod. The end of a pod that no source has is not reported. */
  readonly isKnown: (uid: string) => boolean;
  readonly isMounted: (uid: string) => boolean;
  readonly violated: (invariant: string, uid: string, what: string) => void;
}

export class PodEndJudge {
  readonly #options: PodEndJudgeOptions;

  constructor(options: PodEndJudgeOptions) {
    this.#options = options;
  }

  /** The agent ends no pod that is wanted and would go on forever (lifecycle 3). */
  checkRequested(uid: string, name: string): void {
    const { wantedPod, wasAskedToEnd, admission, violated } = this.#options;
    const pod = wantedPod(name);
    if (pod?.metadata.uid !== uid || wasAskedToEnd(uid) || admission.hasReasonToEnd(uid)) return;
    if (isEnding(pod) || !goesOnForever(pod)) return;
    violated('rule 3', uid, 'is ended, though its end was not asked for');
  }

  /** A finished pod has been cleaned up, and its status says why it has ended (lifecycle 5, 8). */
  checkFinished(uid: string, { type }: PodEvent): void {
    const { isMounted, isKnown, statusOf, lifecycle, admission, violated } = this.#options;
    // A pod that never started is finished at once. Volumes that a dead agent mounted for it are released with its folder.
    if (isMounted(uid) && !type.startsWith('SyncPod'))
      violated('rule 8', uid, 'is finished, and its volumes are mounted');
    if (!isKnown(uid)) return;
    const status = statusOf(uid);
    const wanted = lifecycle.ordersOf(uid)?.status;
    // A pod that ran before may be rejected, and be killed while it ends: it still counts as rejected.
    const isRejected = admission.record(uid)?.rejection !== undefined;
    if (
      !isRejected &&
      status !== undefined &&
      status.phase === wanted?.phase &&
      status.reason !== wanted?.reason
    )
      violated('rule 5', uid, `ends as ${String(status.reason)}, not as ${String(wanted?.reason)}`);
    this.#checkRejected(uid, status);
  }

  #checkRejected(uid: string, { phase, reason }: PodStatus = {}): void {
    const { rejection } = this.#options.admission.record(uid) ?? {};
    if (rejection === undefined || (phase === 'Failed' && reason === rejection)) return;
    const what = `ends as ${String(phase)} ${String(reason)}, not as ${rejection}`;
    this.#options.violated('admission', uid, what);
  }
}
