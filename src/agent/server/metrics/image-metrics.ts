/** How images come to the node and go, as the kubelet's metrics. */
import type { ImageMeasurements, PullCheck, Stopwatch } from '../../../types/measurements.ts';
import { MetricSet, USUAL_BOUNDS } from './counters.ts';
import type { Metric } from './metric-text.ts';

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

/** In seconds. */
const PULL_BOUNDS = [1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600];

interface Pulls {
  podPull(uid: string): Stopwatch;
}

export class ImageMetrics implements ImageMeasurements {
  readonly #set = new MetricSet();
  readonly #nowMs: () => number;
  readonly #starts: Pulls;
  readonly #pullDuration = this.#set.histogram(
    'kubelet_image_pull_duration_seconds',
    '[ALPHA] Duration in seconds to pull an image.',
    PULL_BOUNDS,
  );
  readonly #ensured = this.#set.counter(
    'kubelet_image_manager_ensure_image_requests_total',
    '[ALPHA] Number of ensure-image requests processed by the kubelet.',
  );
  readonly #collected = this.#set.counter(
    'kubelet_image_garbage_collected_total',
    '[ALPHA] Total number of images garbage collected by the kubelet, whether through disk usage or image age.',
  );
  readonly #pullChecks = this.#set.counter(
    'kubelet_imagemanager_image_mustpull_checks_total',
    '[ALPHA] Counter for how many times kubelet checked whether credentials need to be re-verified to access an image',
  );
  readonly #pluginDuration = this.#set.histogram(
    'kubelet_credential_provider_plugin_duration',
    '[ALPHA] Duration of execution in seconds for credential provider plugin',
    USUAL_BOUNDS,
  );
  readonly #pluginErrors = this.#set.counter(
    'kubelet_credential_provider_plugin_errors_total',
    '[ALPHA] Number of errors from credential provider plugin',
  );
  #records = { pulling: 0, pulled: 0 };
  #providersHash: string | undefined;

  /** `nowMs`: of a clock that is never set. `starts`: pulls are left out of the time that a pod takes to start. */
  constructor(nowMs: () => number, starts: Pulls) {
    this.#nowMs = nowMs;
    this.#starts = starts;
    this.#set.gauge(
      'kubelet_imagemanager_ondisk_pullintents',
      '[ALPHA] Number of ImagePullIntents stored on disk.',
      () => this.#records.pulling,
    );
    this.#set.gauge(
      'kubelet_imagemanager_ondisk_pulledrecords',
      '[ALPHA] Number of ImagePulledRecords stored on disk.',
      () => this.#records.pulled,
    );
    this.#set.gauge(
      'kubelet_credential_provider_config_info',
      '[ALPHA] Information about the last applied credential provider configuration with hash as label',
      () => (this.#providersHash === undefined ? undefined : [[{ hash: this.#providersHash }, 1]]),
    );
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
    return this.#set.metrics();
  }
}

function sizeClass(sizeBytes: number): string {
  return CLASSES.find(([belowBytes]) => sizeBytes < belowBytes)?.[1] ?? 'GT100GB';
}
