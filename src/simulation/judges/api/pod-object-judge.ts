/** Compares what an agent writes about its pods at the API server with what really runs, and with what was written before. */
import { CONFIG_HASH_ANNOTATION, isMirrorPod } from '../../../agent/policies/pod/pod-kinds.ts';
import type { CallUnderWay } from '../../runtime/witness.ts';
import type { ContainerStatus, Pod, PodStatus } from '../../../types/kubernetes.ts';
import { isTerminal } from '../../api/served-pod-rules.ts';
import { isStart, type RuntimeTruth } from '../pod-states.ts';

export interface PodObjectTruth {
  readonly runtime: () => RuntimeTruth;
  readonly isMounted: (uid: string) => boolean;
  /** An abandoned call has started something of the pod that no agent may know of yet. */
  readonly mayRunUnknown: (uid: string) => boolean;
  /** The call was begun by an earlier agent, or has been abandoned. */
  readonly isForeign: (call: CallUnderWay) => boolean;
  /** A plugin has chosen the pod: its node may delete it. */
  readonly wasChosen: (uid: string) => boolean;
  /** The UID was wanted again after its end: the end of its first life may be written when the second one has begun. */
  readonly wasMadeAgain: (uid: string) => boolean;
}

export interface PodObjectJudgeOptions {
  readonly truth: PodObjectTruth;
  readonly violated: (invariant: string, subject: { readonly uid: string }, what: string) => void;
}

const LISTS = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const;

export class PodObjectJudge {
  readonly #options: PodObjectJudgeOptions;

  constructor(options: PodObjectJudgeOptions) {
    this.#options = options;
  }

  /** An agent has removed the object of an ordinary pod. */
  removed(pod: Pod): void {
    const { uid, deletionTimestamp } = pod.metadata;
    // A deletion with a grace period removes the object of a pod that has ended by then at once.
    if (deletionTimestamp === undefined && isTerminal(pod) && this.#options.truth.wasChosen(uid)) return;
    if (deletionTimestamp === undefined)
      this.#violated(pod, 'its node deletes it, although nobody asked for that');
    if (!isTerminal(pod)) this.#violated(pod, `is deleted in phase ${pod.status?.phase ?? 'none'}`);
    const running = this.#whatRuns(uid) ?? this.#whatIsLeft(uid);
    if (running !== undefined) this.#violated(pod, `is deleted, and ${running}`);
  }

  /** An agent has asked for the deletion of an ordinary pod. */
  marked(pod: Pod): void {
    if (!this.#options.truth.wasChosen(pod.metadata.uid))
      this.#violated(pod, 'its node asks for its deletion, although nobody else did');
  }

  /**
   * An agent has written another status. `isLate`: it could not know what was written before. `isOfFormerAgent`: its agent was killed before the
   * request was carried out. A later agent may have started the pod, and does not know this status.
   */
  written(
    before: Pod,
    after: Pod,
    { isLate, isOfFormerAgent = false }: { readonly isLate: boolean; readonly isOfFormerAgent?: boolean },
  ): void {
    const { wasMadeAgain } = this.#options.truth;
    const isEnd = isTerminal(after) && !isTerminal(before);
    if (isEnd && !isOfFormerAgent && !wasMadeAgain(localUID(after))) {
      const running = this.#whatRuns(localUID(after));
      if (running !== undefined)
        this.#violated(after, `gets phase ${after.status?.phase ?? ''}, and ${running}`);
    }
    if (isLate || wasMadeAgain(after.metadata.uid)) return;
    // A static pod that waits for its start after a restart of the agent has not been started by this one.
    const former =
      isMirrorPod(after) && after.status?.startTime === undefined ? { startTime: undefined } : {};
    for (const back of goingBack({ ...before.status, ...former }, after.status ?? {}))
      this.#violated(after, `the status goes back: ${back}`, 'status');
  }

  #whatRuns(uid: string): string | undefined {
    const { runtime, mayRunUnknown, isForeign } = this.#options.truth;
    if (mayRunUnknown(uid)) return undefined;
    for (const { containers } of runtime().sandboxesOf(uid)) {
      const running = containers.find(({ state }) => state === 'CONTAINER_RUNNING');
      if (running !== undefined) return `its container ${running.metadata.name} runs`;
    }
    const starting = runtime()
      .inFlight(uid)
      .find((call) => isStart(call.name) && !isForeign(call));
    return starting && `${starting.name} is in flight`;
  }

  #whatIsLeft(uid: string): string | undefined {
    const { runtime, isMounted, mayRunUnknown } = this.#options.truth;
    const sandboxes = [...runtime().sandboxesOf(uid)];
    const ready = mayRunUnknown(uid) ? undefined : sandboxes.find((sandbox) => sandbox.ready);
    if (ready !== undefined) return `its sandbox ${ready.id} is ready`;
    return isMounted(uid) ? 'its volumes are mounted' : undefined;
  }

  #violated(pod: Pod, what: string, invariant = 'pod object'): void {
    this.#options.violated(invariant, { uid: localUID(pod) }, what);
  }
}

/** The UID by which the node knows the pod: of a mirror pod, that of its static pod. */
export function localUID(pod: Pod): string {
  const { annotations = {}, uid } = pod.metadata;
  return isMirrorPod(pod) ? (annotations[CONFIG_HASH_ANNOTATION] ?? uid) : uid;
}

/** What goes back in a status although it must not. */
function goingBack(before: PodStatus, after: PodStatus): readonly string[] {
  const went = (what: string, from: unknown, to: unknown) => `${what} from ${String(from)} to ${String(to)}`;
  const found: string[] = [];
  if (isTerminal({ status: before } as Pod) && after.phase !== before.phase)
    found.push(went('phase', before.phase, after.phase));
  if (before.startTime !== undefined && after.startTime !== before.startTime)
    found.push(went('startTime', before.startTime, after.startTime));
  if ((after.observedGeneration ?? 0) < (before.observedGeneration ?? 0))
    found.push(went('observedGeneration', before.observedGeneration, after.observedGeneration));
  for (const list of LISTS) {
    for (const { name, restartCount } of after[list] ?? []) {
      const { restartCount: formerly = 0 } = find(before[list], name) ?? {};
      if (restartCount < formerly) found.push(went(`restartCount of ${name}`, formerly, restartCount));
    }
  }
  return found;
}

const find = (statuses: readonly ContainerStatus[] = [], wanted: string) =>
  statuses.find(({ name }) => name === wanted);
