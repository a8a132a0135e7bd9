/** The memory manager with the policy Static: who has which memory, remembered in `memory_manager_state`. */
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

/** What others may know of it: PodResources. */
export interface HeldMemoryBlocks {
  /** What containers may get. */
  readonly allocatable: readonly MemoryBlock[];
  /** What the container has; empty where it has none of its own. */
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
   * Goes on with what a former agent has assigned. `machine`: with no container on it. Throws as FailedPrecondition where that does not fit
   * this machine or these settings.
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

  /** A next agent has to know whose the memory is before a container uses it. */
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

  /** UIDs of the pods that have memory of their own. */
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
