/** Counts how CPUs, memory and devices are kept for containers, as the kubelet does. */
import type { CpuFigures, PlacementMeasurements, Stopwatch } from '../../../types/measurements.ts';
import { Counter, Histogram } from './counters.ts';
import { ADMISSION_BOUNDS, COUNTED, GAUGES } from './metric-names.ts';
import { type Metric, metric } from './metric-text.ts';

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

export class PlacementMetrics implements PlacementMeasurements {
  readonly #admissions = new Counter(COUNTED.topologyAdmissions);
  readonly #admissionErrors = new Counter(COUNTED.topologyErrors);
  readonly #admissionDuration = new Histogram(COUNTED.topologyDuration, ADMISSION_BOUNDS);
  readonly #pinned = { cpu: new Counter(COUNTED.cpuPinned), memory: new Counter(COUNTED.memoryPinned) };
  readonly #notPinned = {
    cpu: new Counter(COUNTED.cpuPinningErrors),
    memory: new Counter(COUNTED.memoryPinningErrors),
  };
  readonly #aligned = new Counter(COUNTED.aligned);
  readonly #notAligned = new Counter(COUNTED.notAligned);
  readonly #nowMs: () => number;
  /** Undefined where no container has CPUs for itself. */
  #cpus: CpuFigures | undefined;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
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
    const counted = [...this.#unlabelled, this.#admissionDuration, this.#aligned, this.#notAligned];
    return [...counted.map((one) => one.metric()), ...this.#gauges()];
  }

  get #unlabelled(): readonly Counter[] {
    const { cpu, memory } = this.#pinned;
    const errors = this.#notPinned;
    return [this.#admissions, this.#admissionErrors, cpu, errors.cpu, memory, errors.memory];
  }

  #alignment(isAligned: boolean): Counter {
    return isAligned ? this.#aligned : this.#notAligned;
  }

  #gauges(): readonly Metric[] {
    const { free, exclusive } = this.#cpus ?? {};
    const counts = [...(exclusive?.values() ?? [])];
    const sum = counts.reduce((all, count) => all + count, 0);
    return [
      metric({ ...GAUGES.sharedCpus, type: 'gauge' }, free === undefined ? [] : [[{}, free * MILLI]]),
      metric({ ...GAUGES.exclusiveCpus, type: 'gauge' }, exclusive ? [[{}, sum]] : []),
      metric(
        { ...GAUGES.cpusByNode, type: 'gauge' },
        Array.from(exclusive ?? [], ([node, count]) => [{ numa_node: String(node) }, count] as const),
      ),
    ];
  }
}
