/** Has devices, CPUs and memory chosen for containers, so that those of a container are near each other. */
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
 * For each container, init containers first, it asks all providers for hints, merges them, and has devices, CPUs and memory set
 * aside on the nodes of the best hint. This is one synchronous step, so that no other pod can take what hints have offered.
 * Plugins are called afterwards, so that a slow one delays only its pod.
 */
export class TopologyManager implements PodSubsystem {
  readonly name = 'topology manager';
  readonly #options: TopologyManagerOptions;

  constructor(options: TopologyManagerOptions) {
    this.#options = options;
  }

  admit(pod: Pod, signal: AbortSignal): PodAdmission {
    const measured = this.#options.measurements?.admission();
    // As with the kubelet, a refusal without a policy does not count as a failed alignment.
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

  /**
   * If a state file cannot be written now, its next write has the change. Until then it names a pod that is gone, which a next
   * agent frees.
   */
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
    const ofPod = scope === 'pod' ? this.#hint((provider) => provider.podHints(pod, numa.ids)) : undefined;
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      const hint = ofPod ?? this.#hint((provider) => provider.hints(pod, container, numa.ids));
      for (const provider of providers) provider.allocate(pod, container, hint);
      if (scope === 'container') this.#measureAligned(true);
    }
    if (scope === 'pod') this.#measureAligned(true);
  }

  /** Only single-numa-node guarantees that everything is on one node. */
  #measureAligned(isAligned: boolean): void {
    const { policy, scope, measurements } = this.#options;
    if (policy === 'single-numa-node') measurements?.aligned(scope, 'numa_node', isAligned);
  }

  #hint(hintsOf: (provider: HintProvider) => ReturnType<HintProvider['hints']>): TopologyHint | undefined {
    const { policy, providers } = this.#options;
    if (policy === 'none') return undefined;
    const { hint, isAdmitted } = mergeHints({ ...this.#options, policy }, providers.map(hintsOf));
    if (isAdmitted) return hint;
    this.#measureAligned(false);
    throw new AdmissionRefusal(
      'TopologyAffinityError',
      'Resources cannot be allocated with Topology locality',
    );
  }
}

/** Calls `complete` of one provider after the other; undefined if none has anything to wait for. */
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
