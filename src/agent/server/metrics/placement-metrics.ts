/** Counts how CPUs, memory and devices are kept for containers, as the kubelet does. */
import type { CpuFigures, PlacementMeasurements, Stopwatch } from '../../../types/measurements.ts';
import { type Counter, MetricSet } from './counters.ts';
import type { Metric } from './metric-text.ts';

const MILLI = 1000;

type Aligned = Parameters<PlacementMeasurements['aligned']>;

/** Those that the kubelet shows before anything has happened. */
const SHOWN: readonly Aligned[] = [
  ['container', 'numa_node', true],
  ['pod', 'numa_node', true],
  ['container', 'physical_cpu', true],
  ['container', 'uncore_cache', true],
  ['container', 'numa_node', false],
  ['pod', 'numa_node', false],
  ['container', 'physical_cpu', false],
];

/** In milliseconds: 15 bounds, each twice the one before. */
const ADMISSION_BOUNDS = Array.from({ length: 15 }, (_, index) => 0.05 * 2 ** index);

export class PlacementMetrics implements PlacementMeasurements {
  readonly #set = new MetricSet();
  readonly #admissions = this.#set.counter(
    'kubelet_topology_manager_admission_requests_total',
    '[ALPHA] The number of admission requests where resources have to be aligned.',
  );
  readonly #admissionErrors = this.#set.counter(
    'kubelet_topology_manager_admission_errors_total',
    '[ALPHA] The number of admission request failures where resources could not be aligned.',
  );
  readonly #admissionDuration = this.#set.histogram(
    'kubelet_topology_manager_admission_duration_ms',
    '[ALPHA] Duration in milliseconds to serve a pod admission request.',
    ADMISSION_BOUNDS,
  );
  readonly #pinned = {
    cpu: this.#set.counter(
      'kubelet_cpu_manager_pinning_requests_total',
      '[ALPHA] The number of cpu core allocations which required pinning.',
    ),
    memory: this.#set.counter(
      'kubelet_memory_manager_pinning_requests_total',
      '[ALPHA] The number of memory pages allocations which required pinning.',
    ),
  };
  readonly #notPinned = {
    cpu: this.#set.counter(
      'kubelet_cpu_manager_pinning_errors_total',
      '[ALPHA] The number of cpu core allocations which required pinning failed.',
    ),
    memory: this.#set.counter(
      'kubelet_memory_manager_pinning_errors_total',
      '[ALPHA] The number of memory pages allocations which required pinning that failed.',
    ),
  };
  readonly #aligned = this.#set.counter(
    'kubelet_container_aligned_compute_resources_count',
    '[ALPHA] Cumulative number of aligned compute resources allocated to containers by alignment type.',
  );
  readonly #notAligned = this.#set.counter(
    'kubelet_container_aligned_compute_resources_failure_count',
    '[ALPHA] Cumulative number of failures to allocate aligned compute resources to containers by alignment type.',
  );
  readonly #nowMs: () => number;
  /** Undefined where no container has CPUs for itself. */
  #cpus: CpuFigures | undefined;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#set.gauge(
      'kubelet_cpu_manager_shared_pool_size_millicores',
      '[ALPHA] The size of the shared CPU pool for non-guaranteed QoS pods, in millicores.',
      () => (this.#cpus ? this.#cpus.free * MILLI : undefined),
    );
    this.#set.gauge(
      'kubelet_cpu_manager_exclusive_cpu_allocation_count',
      '[ALPHA] The total number of CPUs exclusively allocated to containers running on this node',
      () => this.#cpus && [...this.#cpus.exclusive.values()].reduce((sum, count) => sum + count, 0),
    );
    this.#set.gauge(
      'kubelet_cpu_manager_allocation_per_numa',
      '[ALPHA] Number of CPUs allocated per NUMA node',
      () =>
        Array.from(
          this.#cpus?.exclusive ?? [],
          ([node, count]) => [{ numa_node: String(node) }, count] as const,
        ),
    );
    for (const counter of this.#unlabelled) counter.add({}, 0);
    for (const [scope, boundary, isAligned] of SHOWN) this.#alignment(isAligned).add({ boundary, scope }, 0);
  }

  admission(): Stopwatch {
    this.#admissions.add();
    const began = this.#nowMs();
    return (outcome) => {
      if (outcome === 'failure') this.#admissionErrors.add();
      this.#admissionDuration.observe({}, this.#nowMs() - began);
    };
  }

  pinned(resource: 'cpu' | 'memory', isGiven: boolean): void {
    this.#pinned[resource].add();
    if (!isGiven) this.#notPinned[resource].add();
  }

  aligned(...[scope, boundary, isAligned]: Aligned): void {
    this.#alignment(isAligned).add({ boundary, scope });
  }

  cpus(figures: CpuFigures): void {
    this.#cpus = figures;
  }

  metrics(): readonly Metric[] {
    return this.#set.metrics();
  }

  get #unlabelled(): readonly Counter[] {
    const { cpu, memory } = this.#pinned;
    const errors = this.#notPinned;
    return [this.#admissions, this.#admissionErrors, cpu, errors.cpu, memory, errors.memory];
  }

  #alignment(isAligned: boolean): Counter {
    return isAligned ? this.#aligned : this.#notAligned;
  }
}
