import type { TopologyHint, TopologyHints } from '../../policies/topology/topology-hint.ts';
import type { Container, Pod } from '../../../types/kubernetes.ts';

/** Gives containers devices, CPUs or memory, which are on certain NUMA nodes. The topology manager calls it. */
export interface HintProvider {
  readonly name: string;
  /**
   * The NUMA nodes that would do for the container. If it already has something, the nodes of that. `numaNodes`: those of the
   * machine.
   */
  hints(pod: Pod, container: Container, numaNodes: readonly number[]): TopologyHints;
  podHints(pod: Pod, numaNodes: readonly number[]): TopologyHints;
  /**
   * Sets aside what the container needs, on the nodes of the hint; does nothing if the container already has it. It is
   * synchronous, so that no other pod can take what `hints` has offered. `hint` is undefined without a topology policy. Throws an
   * AdmissionRefusal; another error becomes an UnexpectedAdmissionError of the pod.
   */
  allocate(pod: Pod, container: Container, hint: TopologyHint | undefined): void;
  /**
   * Called when everything for the pod is set aside: does what takes time, such as calling a plugin or writing a file. The pod is
   * admitted when it resolves; undefined if there is nothing to wait for. Rejects with the same errors as `allocate`.
   */
  complete?(pod: Pod, signal: AbortSignal): Promise<void> | undefined;
  /** Whether anything is set aside for the pod, by this agent or a former one. */
  holds(uid: string): boolean;
  /** Frees all that the pod has before it returns. The promise resolves when the file on the disk shows it. */
  release(uid: string): void | Promise<void>;
}

/** Says why a pod cannot have what it needs from a provider. */
export class AdmissionRefusal extends Error {
  readonly reason: string;
  /** The end of other pods would not help. */
  readonly isForGood: boolean;

  constructor(reason: string, message: string, { isForGood = false } = {}) {
    super(message);
    this.name = 'AdmissionRefusal';
    this.reason = reason;
    this.isForGood = isForGood;
  }
}
