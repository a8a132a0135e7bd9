import type { Observable } from 'rxjs';
import type { PodWait } from '../../policies/pod/pod-wait.ts';

/** What pods wait for that their charts do not show. */
export interface PodWaits {
  waitOf(uid: string): PodWait | undefined;
  /** Emits the UIDs of pods that begin to wait, or wait no longer. */
  readonly waitChanges: Observable<readonly string[]>;
}
