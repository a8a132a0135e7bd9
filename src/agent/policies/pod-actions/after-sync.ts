/** What a sync leaves to the next one, and when that is due. */
import type { Pod } from '../../../types/kubernetes.ts';
import type { RuntimePodStatus } from '../../../types/runtime-pod.ts';
import { isRunning } from '../cri/runtime-pod-status.ts';
import { changesRunning } from '../resize/resize-actions.ts';
import type { ResyncReason } from './back-off.ts';
import type { PodActions } from './pod-actions.ts';
import { isRestartableInitContainer } from './restart.ts';

/** What could not be done: `target` is a container's name, `retryAt` when its back-off is over (Unix milliseconds). */
interface Failure {
  readonly target: string;
  readonly retryAt?: number | undefined;
}

/** Whether a sync has anything to do. */
export function asksForSomething(actions: PodActions): boolean {
  return (
    actions.killPod ||
    needsSandbox(actions) ||
    actions.containersToKill.length > 0 ||
    actions.containersToReset.length > 0 ||
    changesRunning(actions.resize)
  );
}

/** A pod that is to be killed asks for nothing more once nothing of it runs. */
export function asksForMore(actions: PodActions, after: RuntimePodStatus): boolean {
  return asksForSomething({ ...actions, killPod: actions.killPod && isRunning(after) });
}

/** Whether a sandbox is created, or a container starts in the one that is there. */
export function needsSandbox(actions: PodActions): boolean {
  const { initContainersToStart, containersToStart, ephemeralContainersToStart, createSandbox } = actions;
  const starts = [initContainersToStart, containersToStart, ephemeralContainersToStart];
  return createSandbox || starts.some(({ length }) => length > 0);
}

/** The names of what failed, without containers that were created and have ended: those restart after their back-off. */
export function namesWithoutBackOff(
  failures: readonly Failure[],
  before: RuntimePodStatus,
  after: RuntimePodStatus,
): ReadonlySet<string> {
  const known = new Set(before.containers.map(({ id }) => id));
  const ended = after.containers.filter(({ id, state }) => state === 'exited' && !known.has(id));
  const names = new Set(ended.map(({ name }) => name));
  return new Set(failures.map(({ target }) => target).filter((target) => !names.has(target)));
}

/** Whether a container is to be started that has not just failed: it must not wait for the back-off of those that failed. */
export function asksForMoreThan(failed: ReadonlySet<string>, { spec }: Pod, actions: PodActions): boolean {
  if (actions.killPod || actions.createSandbox) return false;
  for (const index of actions.initContainersToStart) {
    const init = spec.initContainers?.[index];
    if (init === undefined) continue;
    if (!failed.has(init.name)) return true;
    // Without a sidecar, the containers after it are started all the same.
    if (!isRestartableInitContainer(init)) return false;
  }
  return actions.containersToStart.some((index) => !failed.has(spec.containers[index]?.name ?? ''));
}

/** When the next sync is due after these failures. Where every failure waits for a back-off, the next sync is due when the first back-off is over. */
export function resyncReason(failures: readonly Failure[]): ResyncReason {
  const times = failures.map(({ retryAt }) => retryAt).filter((time) => time !== undefined);
  return times.length === failures.length
    ? { kind: 'backOff', retryAt: Math.min(...times) }
    : { kind: 'failed' };
}
