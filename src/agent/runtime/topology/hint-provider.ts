import type { TopologyHint, TopologyHints } from '../../policies/topology/topology-hint.ts';
import type { Container, Pod } from '../../../types/kubernetes.ts';

/** What gives a container something that is on certain NUMA nodes: devices, CPUs, memory. The topology manager asks it. */
export interface HintProvider {
  readonly name: string;
  /** The pod is to be admitted, perhaps not for the first time. What is only set aside for it of an earlier attempt is chosen anew. */
  begin?(uid: string): void;
  /** Of what the container has already, the nodes on which that is. `numaNodes`: those of the machine. */
  hints(pod: Pod, container: Container, numaNodes: readonly number[]): TopologyHints;
  podHints(pod: Pod, numaNodes: readonly number[]): TopologyHints;
  /**
   * Sets aside what the container needs, where the hint says; does nothing where the container has it already. It does not wait: between
   * hints and this no other pod may take what the hints have offered. `hint` is undefined where none were asked for. Throws an
   * AdmissionRefusal; another error is an UnexpectedAdmissionError of the pod.
   */
  allocate(pod: Pod, container: Container, hint: TopologyHint | undefined): void;
  /**
   * All containers of the pod have what they need set aside: does what takes its time, such as a call of a plugin or a file. The pod
   * is admitted when it resolves; at once where there is nothing to wait for. Rejects as `allocate` throws.
   */
  complete?(pod: Pod, signal: AbortSignal): Promise<void> | undefined;
  /** Whether anything is set aside for the pod, by this agent or a former one. */
  holds(uid: string): boolean;
  /** Takes back all that the pod has, before it returns. Resolves when a next agent knows that, too. */
  release(uid: string): void | Promise<void>;
}

/** Why a pod cannot have what it needs of a provider. */
export class AdmissionRefusal extends Error {
  readonly reason: string;
  /** It cannot have it later either, when others have ended. */
  readonly isForGood: boolean;

  constructor(reason: string, message: string, { isForGood = false } = {}) {
    super(message);
    this.name = 'AdmissionRefusal';
    this.reason = reason;
    this.isForGood = isForGood;
  }
}
