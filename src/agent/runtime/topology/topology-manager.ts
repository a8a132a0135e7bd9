/** Asks all parts of a node that give containers devices, CPUs or memory, so that a container has them near each other. */
import { mergeHints, type MergeSettings, type TopologyPolicy } from '../../policies/topology/merge-hints.ts';
import type { TopologyHint } from '../../policies/topology/topology-hint.ts';
import { type Rejection, UNEXPECTED_ADMISSION_ERROR } from '../../policies/admission/rejection.ts';
import type { PlacementMeasurements } from '../../../types/measurements.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { PodAdmission, PodSubsystem } from '../node/pod-node.ts';
import { AdmissionRefusal, type HintProvider } from './hint-provider.ts';

export interface TopologyManagerOptions extends Omit<MergeSettings, 'policy'> {
  readonly policy: TopologyPolicy;
  readonly scope: 'container' | 'pod';
  /** In the order in which they are asked: devices, CPUs, memory. */
  readonly providers: readonly HintProvider[];
  readonly measurements?: PlacementMeasurements | undefined;
}

/**
 * Of each container, init containers first: ask for hints, merge them, set aside where the best one says. All this is one step of the event
 * loop, so that pods do not take from each other what has been offered to them. A plugin that takes its time is called afterwards, and holds up its
 * own pod alone.
 */
export class TopologyManager implements PodSubsystem {
  readonly name = 'topology manager';
  readonly #options: TopologyManagerOptions;

  constructor(options: TopologyManagerOptions) {
    this.#options = options;
  }

  admit(pod: Pod, signal: AbortSignal): PodAdmission {
    const measured = this.#options.measurements?.admission();
    // As with the kubelet, without a policy nothing could have been anywhere else.
    const isPlaced = this.#options.policy !== 'none';
    const refused = (error: unknown) => {
      measured?.(isPlaced ? 'failure' : 'success');
      return rejectionOf(error);
    };
    const admitted = (): undefined => {
      measured?.('success');
    };
    try {
      this.#allocate(pod);
      const completing = completed(this.#options.providers, pod, signal);
      if (completing) return completing.then(admitted, refused);
      admitted();
      return undefined;
    } catch (error) {
      return refused(error);
    }
  }

  /** Where a file cannot be written now, it has this with its next change. A next agent finds there a pod that is gone. */
  withdraw(uid: string): boolean {
    const hadSome = this.#options.providers.some((provider) => provider.holds(uid));
    if (hadSome) this.release(uid).catch(() => undefined);
    return hadSome;
  }

  async release(uid: string): Promise<void> {
    await Promise.all(this.#options.providers.map(async (provider) => provider.release(uid)));
  }

  #allocate(pod: Pod): void {
    const { providers, scope, numa } = this.#options;
    for (const provider of providers) provider.begin?.(pod.metadata.uid);
    const ofPod = scope === 'pod' ? this.#hint((provider) => provider.podHints(pod, numa.ids)) : undefined;
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      const hint = ofPod ?? this.#hint((provider) => provider.hints(pod, container, numa.ids));
      for (const provider of providers) provider.allocate(pod, container, hint);
      if (scope === 'container') this.#tellAligned(true);
    }
    if (scope === 'pod') this.#tellAligned(true);
  }

  /** Only this policy promises that all is on one node. */
  #tellAligned(isAligned: boolean): void {
    const { policy, scope, measurements } = this.#options;
    if (policy === 'single-numa-node') measurements?.aligned(scope, 'numa_node', isAligned);
  }

  #hint(hintsOf: (provider: HintProvider) => ReturnType<HintProvider['hints']>): TopologyHint | undefined {
    const { policy, providers } = this.#options;
    if (policy === 'none') return undefined;
    const { hint, isAdmitted } = mergeHints({ ...this.#options, policy }, providers.map(hintsOf));
    if (isAdmitted) return hint;
    this.#tellAligned(false);
    throw new AdmissionRefusal(
      'TopologyAffinityError',
      'Resources cannot be allocated with Topology locality',
    );
  }
}

/** One after the other; undefined where none has anything to wait for. */
function completed(
  [provider, ...others]: readonly HintProvider[],
  pod: Pod,
  signal: AbortSignal,
): Promise<void> | undefined {
  if (provider === undefined) return undefined;
  const done = provider.complete?.(pod, signal);
  return done ? done.then(() => completed(others, pod, signal)) : completed(others, pod, signal);
}

function rejectionOf(error: unknown): Rejection {
  if (error instanceof AdmissionRefusal) {
    const { reason, message, isForGood } = error;
    return { reason, message, ...(isForGood && { isForGood }) };
  }
  const message = `Allocate failed due to ${errorMessage(error)}, which is unexpected`;
  return { reason: UNEXPECTED_ADMISSION_ERROR, message };
}
