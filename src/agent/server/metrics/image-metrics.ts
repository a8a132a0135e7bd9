/** How images come to the node and go, as the kubelet's metrics. */
import type { ImageMeasurements, PullCheck, Stopwatch } from '../../../types/measurements.ts';
import { Counter, Histogram } from './counters.ts';
import { COUNTED, GAUGES, PULL_BOUNDS, USUAL_BOUNDS } from './metric-names.ts';
import { type Metric, metric } from './metric-text.ts';

const MS_PER_S = 1000;
const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

/** The kubelet's classes of sizes, the smallest first. */
const CLASSES: readonly (readonly [belowBytes: number, label: string])[] = [
  [10 * MIB, '0-10MB'],
  [100 * MIB, '10MB-100MB'],
  [500 * MIB, '100MB-500MB'],
  [GIB, '500MB-1GB'],
  [5 * GIB, '1GB-5GB'],
  [10 * GIB, '5GB-10GB'],
  [20 * GIB, '10GB-20GB'],
  [30 * GIB, '20GB-30GB'],
  [40 * GIB, '30GB-40GB'],
  [60 * GIB, '40GB-60GB'],
  [100 * GIB, '60GB-100GB'],
];

interface Pulls {
  podPull(uid: string): Stopwatch;
}

export class ImageMetrics implements ImageMeasurements {
  readonly #nowMs: () => number;
  readonly #starts: Pulls;
  readonly #pullDuration = new Histogram(COUNTED.imagePullDuration, PULL_BOUNDS);
  readonly #ensured = new Counter(COUNTED.imagesEnsured);
  readonly #collected = new Counter(COUNTED.imagesCollected);
  readonly #pullChecks = new Counter(COUNTED.pullChecks);
  readonly #pluginDuration = new Histogram(COUNTED.credentialPluginDuration, USUAL_BOUNDS);
  readonly #pluginErrors = new Counter(COUNTED.credentialPluginErrors);
  #records = { pulling: 0, pulled: 0 };
  #providersHash: string | undefined;

  /** `nowMs`: of a clock that is never set. `starts`: pulls are left out of the time that a pod takes to start. */
  constructor(nowMs: () => number, starts: Pulls) {
    this.#nowMs = nowMs;
    this.#starts = starts;
  }

  imagePulled(sizeBytes: number, durationMs: number): void {
    const labels = { image_size_in_bytes: sizeClass(sizeBytes) };
    this.#pullDuration.observe(labels, durationMs / MS_PER_S);
  }

  podPull(uid: string): Stopwatch {
    return this.#starts.podPull(uid);
  }

  imageEnsured(policy: string, isPresent?: boolean, isPullRequired?: boolean): void {
    this.#ensured.add({
      present_locally: String(isPresent ?? 'unknown'),
      pull_policy: policy.toLowerCase(),
      pull_required: String(isPullRequired ?? 'unknown'),
    });
  }

  imageCollected(reason: 'age' | 'space'): void {
    this.#collected.add({ reason });
  }

  pullChecked(result: PullCheck): void {
    this.#pullChecks.add({ result });
  }

  pullRecords(pulling: number, pulled: number): void {
    this.#records = { pulling, pulled };
  }

  credentialPlugin(plugin: string): Stopwatch {
    const labels = { plugin_name: plugin };
    const end = this.#pluginDuration.startTimer(this.#nowMs, labels);
    return (outcome) => {
      end();
      if (outcome === 'failure') this.#pluginErrors.add(labels);
    };
  }

  credentialProviders(hash: string): void {
    this.#providersHash = hash;
  }

  metrics(): readonly Metric[] {
    const { pulling, pulled } = this.#records;
    const hash = this.#providersHash;
    const counted = [
      this.#pullDuration,
      this.#ensured,
      this.#collected,
      this.#pullChecks,
      this.#pluginDuration,
      this.#pluginErrors,
    ];
    return [
      ...counted.map((one) => one.metric()),
      metric({ ...GAUGES.pullIntents, type: 'gauge' }, [[{}, pulling]]),
      metric({ ...GAUGES.pulledRecords, type: 'gauge' }, [[{}, pulled]]),
      metric({ ...GAUGES.credentialProviders, type: 'gauge' }, hash === undefined ? [] : [[{ hash }, 1]]),
    ];
  }
}

function sizeClass(sizeBytes: number): string {
  return CLASSES.find(([belowBytes]) => sizeBytes < belowBytes)?.[1] ?? 'GT100GB';
}
