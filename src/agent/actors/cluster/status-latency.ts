/** Measures how far the API server is behind the statuses of pods, and how long it takes until it has their start. */
import type { Subscription } from 'rxjs';
import type { VersionedStatus } from '../../policies/cluster/status-versions.ts';
import { allContainersRun, isStateful } from '../../policies/status/phase.ts';
import type { Clock } from '../../../types/clock.ts';
import type { AgentMeasurements, Stopwatch } from '../../../types/measurements.ts';
import type { StatusManager } from '../pods/status-manager.ts';

interface Lag {
  readonly version: number;
  readonly end: Stopwatch;
}

type Measured = Pick<AgentMeasurements, 'nodeLife' | 'starts'>;

export class StatusLatency {
  readonly #measurements: Measured;
  readonly #clock: Clock;
  readonly #statusManager: StatusManager;
  /** By UID, the first version that the API server does not have. */
  readonly #lags = new Map<string, Lag>();
  readonly #subscription: Subscription;

  constructor(measurements: Measured, statusManager: StatusManager, clock: Clock) {
    this.#measurements = measurements;
    this.#clock = clock;
    this.#statusManager = statusManager;
    this.#subscription = statusManager.news.subscribe(({ uid }) => this.#changed(uid));
  }

  written(uid: string, entry: VersionedStatus): void {
    this.#ended(uid, entry.version);
    const { pod, status } = entry;
    const { creationTimestamp } = pod.metadata;
    if (creationTimestamp === undefined || !allContainersRun(status)) return;
    this.#measurements.starts.started(uid, {
      sinceCreationMs: this.#clock.now() - Date.parse(creationTimestamp),
      isStateful: isStateful(pod),
      hostNetwork: pod.spec.hostNetwork === true,
    });
  }

  forget(uid: string): void {
    this.#lags.delete(uid);
  }

  stop(): void {
    this.#subscription.unsubscribe();
  }

  #ended(uid: string, version: number): void {
    const lag = this.#lags.get(uid);
    if (lag === undefined || lag.version > version) return;
    lag.end();
    this.#lags.delete(uid);
    // The status has changed again while it was written.
    if ((this.#statusManager.entry(uid)?.version ?? 0) > version) this.#changed(uid);
  }

  #changed(uid: string): void {
    const version = this.#statusManager.entry(uid)?.version;
    const lag = this.#lags.get(uid);
    // A pod that was forgotten and has come again counts its versions anew.
    if (version === undefined || (lag !== undefined && lag.version <= version)) return;
    this.#lags.set(uid, { version, end: this.#measurements.nodeLife.statusChanged() });
  }
}
