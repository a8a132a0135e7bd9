import { Timer } from '../../../system/timer.ts';
import type { Clock } from '../../../types/clock.ts';
import type { EventRecorder } from '../../../types/event-recorder.ts';
import type { Pod } from '../../../types/kubernetes.ts';

/** After this time an event says that the change of owners takes long, and then once a minute. */
const SLOW_MS = 30_000;
const STILL_SLOW_MS = 60_000;
const ON_ROOT_MISMATCH =
  'https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods';

/** Events about a change of owners that takes long. */
export class SlowChange {
  readonly #timer: Timer;
  readonly #tell: (message: string) => void;
  readonly #what: string;
  #files = 0;

  constructor(
    pod: Pod,
    folder: string,
    { clock, recorder }: { readonly clock: Clock; readonly recorder: EventRecorder },
  ) {
    this.#timer = new Timer(clock);
    this.#what = `Setting volume ownership for ${folder}`;
    this.#tell = (message) =>
      recorder.event(pod.metadata, 'Warning', 'VolumePermissionChangeInProgress', message);
    this.#timer.arm(SLOW_MS, () => {
      this.#tell(
        `${this.#what} is taking longer than expected, consider using OnRootMismatch - ${ON_ROOT_MISMATCH}`,
      );
      this.#again();
    });
  }

  count(): void {
    this.#files += 1;
  }

  stop(): void {
    this.#timer.disarm();
  }

  #again(): void {
    this.#timer.arm(STILL_SLOW_MS, () => {
      this.#tell(`${this.#what}, processed ${this.#files} files.`);
      this.#again();
    });
  }
}
