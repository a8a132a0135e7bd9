/** The static CPU manager: which container has which CPUs, kept in `cpu_manager_state`. */
import { type CpuSet, cpuSetString, isSameSet, without } from '../../policies/cpus/cpu-set.ts';
import { partNumbers, partsOf } from '../../policies/cpus/cpu-topology.ts';
import { assignedCpus, type CpuState, exclusiveCpus, withoutPod } from '../../policies/cpus/cpu-state.ts';
import {
  containerHints,
  exclusiveCount,
  free,
  initialState,
  podHints,
  smtProblem,
  stateProblem,
  type StaticCpus,
  withContainer,
} from '../../policies/cpus/static-cpus.ts';
import type { TopologyHint, TopologyHints } from '../../policies/topology/topology-hint.ts';
import type { CpuFigures, PlacementMeasurements } from '../../../types/measurements.ts';
import type { Container, Pod } from '../../../types/kubernetes.ts';
import { AdmissionRefusal, type HintProvider } from '../topology/hint-provider.ts';
import type { StoredText } from '../../../system/newest-file.ts';
import type { StateFile } from '../node/state-file.ts';
import { cpuStateFile } from './cpu-state-file.ts';

/** What PodResources and others read. */
export interface CpuAssignments {
  /** CPUs that containers may get exclusively. */
  readonly allocatable: CpuSet;
  /** The container's exclusive CPUs; empty if it has none. */
  exclusive(uid: string, container: string): CpuSet;
}

export class CpuManager implements HintProvider, CpuAssignments {
  readonly name = 'CPUs';
  readonly allocatable: CpuSet;
  readonly #policy: StaticCpus;
  readonly #file: StateFile<CpuState>;
  readonly #measurements: PlacementMeasurements | undefined;
  #state: CpuState;
  /** Called when the shared CPUs have changed. */
  #onShared: () => void = () => undefined;

  private constructor(
    policy: StaticCpus,
    file: StateFile<CpuState>,
    state: CpuState,
    measurements: PlacementMeasurements | undefined,
  ) {
    this.#policy = policy;
    this.#file = file;
    this.#state = state;
    this.#measurements = measurements;
    measurements?.cpus(this.#figures);
    this.allocatable = without(policy.topology.cpus, policy.reserved);
  }

  /**
   * Continues with the assignments of a former agent. Throws FailedPrecondition if they do not match the machine or the settings.
   */
  static open(stored: StoredText, policy: StaticCpus, measurements?: PlacementMeasurements): CpuManager {
    const file = cpuStateFile(stored, 'static');
    const state = file.read() ?? initialState(policy);
    const problem = stateProblem(policy, state);
    if (problem !== undefined) throw file.unusable(problem);
    return new CpuManager(policy, file, state, measurements);
  }

  set onShared(changed: () => void) {
    this.#onShared = changed;
  }

  hints(pod: Pod, container: Container): TopologyHints {
    return hintsOf(containerHints(this.#policy, this.#state, pod, container));
  }

  podHints(pod: Pod): TopologyHints {
    return hintsOf(podHints(this.#policy, this.#state, pod));
  }

  allocate(pod: Pod, container: Container, hint: TopologyHint | undefined): void {
    if (exclusiveCount(pod, container) === 0) return;
    const before = this.#state;
    let isGiven = false;
    try {
      const problem = smtProblem(this.#policy, this.#state, pod, container);
      if (problem !== undefined) throw new AdmissionRefusal('SMTAlignmentError', problem.message, problem);
      this.#become(withContainer(this.#policy, this.#state, pod, container, hint?.numaNodes));
      isGiven = true;
    } finally {
      this.#measure(isGiven, this.#state === before ? [] : this.exclusive(pod.metadata.uid, container.name));
    }
  }

  /** `cpus`: only those that the container did not have before. */
  #measure(isGiven: boolean, cpus: CpuSet): void {
    const { topology, options } = this.#policy;
    this.#measurements?.pinned('cpu', isGiven);
    if (options['full-pcpus-only']) this.#measurements?.aligned('container', 'physical_cpu', isGiven);
    if (partNumbers(topology, 'cache', cpus).length === 1)
      this.#measurements?.aligned('container', 'uncore_cache', true);
  }

  /** The file must have the assignment before the container runs on the CPUs: a next agent reads it. */
  complete(): Promise<void> | undefined {
    return this.#file.isSaved(this.#state) ? undefined : this.#save();
  }

  holds(uid: string): boolean {
    return this.#state.assigned.has(uid);
  }

  async release(uid: string): Promise<void> {
    if (this.holds(uid)) this.#become(withoutPod(this.#state, uid));
    await this.#save();
  }

  exclusive(uid: string, container: string): CpuSet {
    return assignedCpus(this.#state, uid, container) ?? [];
  }

  /** The CPUs that the container runs on; empty if no CPU is left to share. */
  cpusetOf(uid: string, container: string): string {
    return cpuSetString(assignedCpus(this.#state, uid, container) ?? this.#state.shared);
  }

  /** UIDs of the pods that have exclusive CPUs. */
  get pods(): readonly string[] {
    return [...this.#state.assigned.keys()];
  }

  #become(state: CpuState): void {
    const isSame = isSameSet(state.shared, this.#state.shared);
    this.#state = state;
    if (isSame) return;
    this.#measurements?.cpus(this.#figures);
    this.#onShared();
  }

  get #figures(): CpuFigures {
    const { topology } = this.#policy;
    const taken = partsOf(topology, 'node', exclusiveCpus(this.#state));
    return {
      free: free(this.#policy, this.#state).length,
      exclusive: new Map(topology.nodes.map((node) => [node, taken.get(node)?.length ?? 0])),
    };
  }

  #save(): Promise<void> {
    return this.#file.write(() => this.#state);
  }
}

function hintsOf(hints: readonly TopologyHint[] | undefined): TopologyHints {
  return new Map(hints && [['cpu', hints]]);
}
