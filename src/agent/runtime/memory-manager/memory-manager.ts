/** The memory manager with the policy Static: which container has which memory, kept in `memory_manager_state`. */
import type { NumaMemory, MemoryBlock } from '../../policies/memory-manager/numa-memory.ts';
import type { MemoryAssignments, MemoryState } from '../../policies/memory-manager/memory-state.ts';
import {
  blocksOf,
  containerHints,
  memoryState,
  memoryStateProblem,
  podHints,
  wantsOwnMemory,
  withContainer,
} from '../../policies/memory-manager/static-memory.ts';
import type { TopologyHint, TopologyHints } from '../../policies/topology/topology-hint.ts';
import type { PlacementMeasurements } from '../../../types/measurements.ts';
import type { Container, Pod } from '../../../types/kubernetes.ts';
import type { HintProvider } from '../topology/hint-provider.ts';
import type { StoredText } from '../../../system/newest-file.ts';
import type { StateFile } from '../node/state-file.ts';
import { memoryStateFile } from './memory-state-file.ts';

/** What PodResources reads. */
export interface HeldMemoryBlocks {
  /** What containers may get. */
  readonly allocatable: readonly MemoryBlock[];
  /** The memory that is reserved for the container; empty if there is none. */
  held(uid: string, container: string): readonly MemoryBlock[];
}

export class MemoryManager implements HintProvider, HeldMemoryBlocks {
  readonly name = 'memory';
  /** With no container on it. */
  readonly #machine: NumaMemory;
  readonly #file: StateFile<MemoryState>;
  readonly #measurements: PlacementMeasurements | undefined;
  #state: MemoryState;

  private constructor(
    machine: NumaMemory,
    file: StateFile<MemoryState>,
    assigned: MemoryAssignments,
    measurements: PlacementMeasurements | undefined,
  ) {
    this.#machine = machine;
    this.#file = file;
    this.#measurements = measurements;
    this.#state = memoryState(machine, assigned);
  }

  /**
   * Continues with the assignments of a former agent. `machine`: with no container on it. Throws FailedPrecondition if they do
   * not match the machine or the settings.
   */
  static open(stored: StoredText, machine: NumaMemory, measurements?: PlacementMeasurements): MemoryManager {
    const file = memoryStateFile(stored, 'Static');
    const former = file.read();
    const problem = former && memoryStateProblem(machine, former);
    if (problem !== undefined) throw file.unusable(problem);
    return new MemoryManager(machine, file, former?.assigned ?? new Map(), measurements);
  }

  hints(pod: Pod, container: Container): TopologyHints {
    return containerHints(this.#state, pod, container);
  }

  podHints(pod: Pod): TopologyHints {
    return podHints(this.#state, pod);
  }

  allocate(pod: Pod, container: Container, hint: TopologyHint | undefined): void {
    if (!wantsOwnMemory(pod, container)) return;
    let isGiven = false;
    try {
      this.#become(withContainer(this.#state, pod, container, hint));
      isGiven = true;
    } finally {
      this.#measurements?.pinned('memory', isGiven);
    }
  }

  /** The file must have the assignment before the container uses the memory: a next agent reads it. */
  complete(): Promise<void> | undefined {
    return this.#file.isSaved(this.#state) ? undefined : this.#save();
  }

  holds(uid: string): boolean {
    return this.#state.assigned.has(uid);
  }

  async release(uid: string): Promise<void> {
    if (this.holds(uid)) {
      const assigned = new Map(this.#state.assigned);
      assigned.delete(uid);
      this.#become(assigned);
    }
    await this.#save();
  }

  get allocatable(): readonly MemoryBlock[] {
    return [...this.#machine].flatMap(([id, { memoryMap }]) =>
      Array.from(memoryMap, ([type, { allocatable: size }]) => ({ numaAffinity: [id], type, size })),
    );
  }

  held(uid: string, container: string): readonly MemoryBlock[] {
    return blocksOf(this.#state, uid, container) ?? [];
  }

  /** UIDs of the pods for which memory is reserved. */
  get pods(): readonly string[] {
    return [...this.#state.assigned.keys()];
  }

  #become(assigned: MemoryAssignments): void {
    if (assigned !== this.#state.assigned) this.#state = memoryState(this.#machine, assigned);
  }

  #save(): Promise<void> {
    return this.#file.write(() => this.#state);
  }
}
