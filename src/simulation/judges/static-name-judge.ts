/** I6: of the full name of a manifest's pod, at most one incarnation is between its start and Terminated. */
import type { PodSnapshot } from '../../actors/pods/pod-registry.ts';
import { stateName } from '../../actors/transitions.ts';
import { isManifestPod } from '../../policies/pod/pod-kinds.ts';
import type { PodProgress } from './pod-progress.ts';
import { isBeforeStart, isTerminated } from './pod-states.ts';

export interface StaticNameJudgeOptions {
  /** The state of the pod of that UID now; empty for a pod without an actor. */
  readonly stateOf: (uid: string) => string;
  /** Whether something of the pod runs, or may run because the pod was started. */
  readonly mayRun: (progress: PodProgress) => boolean;
  readonly violated: (progress: PodProgress, what: string) => void;
}

export class StaticNameJudge {
  readonly #options: StaticNameJudgeOptions;
  /** By full name, the UID of the pod between its start and Terminated. */
  readonly #started = new Map<string, string>();

  constructor(options: StaticNameJudgeOptions) {
    this.#options = options;
  }

  onSnapshot(progress: PodProgress, snapshot: PodSnapshot): void {
    const { uid, fullName } = progress;
    const { pod } = snapshot.context;
    if (pod === undefined || !isManifestPod(pod)) return;
    const isUnderWay = !snapshot.matches('Terminated') && !isBeforeStart(stateName(snapshot.value));
    const isStarted = isUnderWay && (snapshot.matches('Syncing') || this.#options.mayRun(progress));
    if (!isStarted) {
      this.forget(progress);
      return;
    }
    const other = this.#started.get(fullName);
    if (other === uid) return;
    if (other !== undefined) this.#checkEnded(progress, other);
    this.#started.set(fullName, uid);
  }

  /** The incarnation does not hold its name any more. */
  forget({ uid, fullName }: PodProgress): void {
    if (this.#started.get(fullName) === uid) this.#started.delete(fullName);
  }

  /** The end of the other pod allows this one to start. The other actor shows its end a microtask later. */
  #checkEnded(progress: PodProgress, other: string): void {
    queueMicrotask(() => {
      const state = this.#options.stateOf(other);
      if (isTerminated(state)) return;
      this.#options.violated(progress, `started while ${other} of the same name is in ${state}`);
    });
  }
}
