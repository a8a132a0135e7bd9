/** Measures from when the status of a pod changes to when the API server has it. */
import type { Subscription } from 'rxjs';
import type { VersionedStatus } from '../../policies/status-sync/status-versions.ts';
import type { NodeLifeMeasurements, Stopwatch } from '../../types/measurements.ts';
import type { StatusManager } from '../pods/status-manager.ts';

interface Untold {
  readonly version: number;
  readonly end: Stopwatch;
}

export class ToldStatuses {
  readonly #measurements: Pick<NodeLifeMeasurements, 'statusChanged'>;
  readonly #statusManager: StatusManager;
  /** By UID, the first version that the API server does not have. */
  readonly #untold = new Map<string, Untold>();
  readonly #subscription: Subscription;

  constructor(measurements: Pick<NodeLifeMeasurements, 'statusChanged'>, statusManager: StatusManager) {
    this.#measurements = measurements;
    this.#statusManager = statusManager;
    this.#subscription = statusManager.news.subscribe(({ uid }) => this.#changed(uid));
  }

  written(uid: string, { version }: VersionedStatus): void {
    const untold = this.#untold.get(uid);
    if (untold === undefined || untold.version > version) return;
    untold.end();
    this.#untold.delete(uid);
    // It has changed again while it was written.
    if ((this.#statusManager.entry(uid)?.version ?? 0) > version) this.#changed(uid);
  }

  forget(uid: string): void {
    this.#untold.delete(uid);
  }

  stop(): void {
    this.#subscription.unsubscribe();
  }

  #changed(uid: string): void {
    const version = this.#statusManager.entry(uid)?.version;
    const untold = this.#untold.get(uid);
    // A pod that was forgotten and has come again counts its versions anew.
    if (version === undefined || (untold !== undefined && untold.version <= version)) return;
    this.#untold.set(uid, { version, end: this.#measurements.statusChanged() });
  }
}
