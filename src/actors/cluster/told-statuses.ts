/** Measures how long the API server lags behind the statuses of pods, and how long it takes until it knows that they have started. */
import type { Subscription } from 'rxjs';
import type { VersionedStatus } from '../../policies/cluster/status-versions.ts';
import { allContainersRun, isStateful } from '../../policies/status/phase.ts';
import type { Clock } from '../../types/clock.ts';
import type { AgentMeasurements, Stopwatch } from '../../types/measurements.ts';
import type { StatusManager } from '../pods/status-manager.ts';

interface Untold {
  readonly version: number;
  readonly end: Stopwatch;
}

type Measured = Pick<AgentMeasurements, 'nodeLife' | 'starts'>;

export class ToldStatuses {
  readonly #measurements: Measured;
  readonly #clock: Clock;
  readonly #statusManager: StatusManager;
  /** By UID, the first version that the API server does not have. */
  readonly #untold = new Map<string, Untold>();
  readonly #subscription: Subscription;

  constructor(measurements: Measured, statusManager: StatusManager, clock: Clock) {
    this.#measurements = measurements;
    this.#clock = clock;
    this.#statusManager = statusManager;
    this.#subscription = statusManager.news.subscribe(({ uid }) => this.#changed(uid));
  }

  written(uid: string, entry: VersionedStatus): void {
    this.#toldVersion(uid, entry.version);
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
    this.#untold.delete(uid);
  }

  stop(): void {
    this.#subscription.unsubscribe();
  }

  #toldVersion(uid: string, version: number): void {
    const untold = this.#untold.get(uid);
    if (untold === undefined || untold.version > version) return;
    untold.end();
    this.#untold.delete(uid);
    // It has changed again while it was written.
    if ((this.#statusManager.entry(uid)?.version ?? 0) > version) this.#changed(uid);
  }

  #changed(uid: string): void {
    const version = this.#statusManager.entry(uid)?.version;
    const untold = this.#untold.get(uid);
    // A pod that was forgotten and has come again counts its versions anew.
    if (version === undefined || (untold !== undefined && untold.version <= version)) return;
    this.#untold.set(uid, { version, end: this.#measurements.nodeLife.statusChanged() });
  }
}
