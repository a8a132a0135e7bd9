import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { podLogsFolder, podSandboxConfig, uidOfLogsFolder } from '../policies/cri-config.ts';
import type { PodActions } from '../policies/pod-actions.ts';
import { errorMessage } from '../types/errors.ts';
import type { PodReference } from '../types/event-recorder.ts';
import type { Container, EphemeralContainer, Pod } from '../types/kubernetes.ts';
import type { RuntimePodStatus } from '../types/runtime-pod.ts';
import { ContainerStarter, type ContainerStarterOptions, type StartFailure } from './container-starter.ts';
import { PodKiller } from './pod-killer.ts';

export interface PodRuntimeOptions extends ContainerStarterOptions {
  readonly podLogsDir: string;
}

/** Something that a sync could not do. `retryAt` (Unix ms) says when it is worth trying again, if that is known. */
export interface SyncFailure {
  readonly target: string;
  readonly reason: string;
  readonly message: string;
  readonly retryAt?: number;
}

/** How many dead instances of one container are kept beside the running one (the kubelet's maxPerPodContainer). */
const DEAD_INSTANCES_KEPT = 1;

/** Carries pod actions out on a runtime. Decides nothing: what is to be done has been decided in `src/policies`. */
export class PodRuntime {
  readonly #options: PodRuntimeOptions;
  readonly #starter: ContainerStarter;
  readonly #killer: PodKiller;

  constructor(options: PodRuntimeOptions) {
    this.#options = options;
    this.#starter = new ContainerStarter(options);
    this.#killer = new PodKiller(options);
  }

  /** Why containers of the pod could not be started last time, by container name. */
  startFailures(uid: string): ReadonlyMap<string, StartFailure> {
    return this.#starter.failures(uid);
  }

  /**
   * Does what `actions` asks for, step by step; stops at the next step once `signal` aborts. A call that may start
   * something is always awaited, never abandoned: after this returns or rejects nothing is in flight.
   */
  async syncPod(
    pod: Pod,
    podStatus: RuntimePodStatus,
    actions: PodActions,
    signal: AbortSignal,
  ): Promise<readonly SyncFailure[]> {
    const killFailures = await this.#kill(pod, podStatus, actions, signal);
    if (killFailures.length > 0) return killFailures;
    signal.throwIfAborted();

    let sandboxId = actions.sandboxId;
    if (actions.createSandbox) {
      const created = await this.#createSandbox(pod, actions.attempt);
      if (typeof created !== 'string') return [created];
      sandboxId = created;
    }
    return this.#start(pod, podStatus, actions, sandboxId, signal);
  }

  /** Ends everything of the pod. `graceOverrideSeconds` goes before what its spec says. */
  async killPod(
    pod: Pod | undefined,
    podStatus: RuntimePodStatus,
    graceOverrideSeconds: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#killer.killPod(pod, podStatus, graceOverrideSeconds, signal);
  }

  /** Removes instances of containers that were followed by others. Background work: what fails is tried next time. */
  async pruneDeadContainers(podStatus: RuntimePodStatus): Promise<void> {
    const seen = new Map<string, number>();
    const surplus = podStatus.containers.filter(({ name, state }) => {
      if (state !== 'exited') return false;
      const dead = (seen.get(name) ?? 0) + 1;
      seen.set(name, dead);
      return dead > DEAD_INSTANCES_KEPT;
    });
    await Promise.allSettled(surplus.map(({ id }) => this.#options.runtime.removeContainer(id)));
  }

  /** Removes what is left of a pod that has ended: containers, sandboxes, logs. */
  async removePod(pod: PodReference, podStatus: RuntimePodStatus | undefined): Promise<void> {
    const { runtime, podLogsDir } = this.#options;
    await Promise.all((podStatus?.containers ?? []).map(({ id }) => runtime.removeContainer(id)));
    await Promise.all((podStatus?.sandboxes ?? []).map(({ id }) => runtime.removePodSandbox(id)));
    await rm(join(podLogsDir, podLogsFolder(pod)), { recursive: true, force: true });
    this.#starter.forget(pod.uid);
  }

  /**
   * Removes the logs of pods that nobody knows: an agent that was killed may have left them. As with the kubelet, nobody
   * else may keep pods' logs in `podLogsDir`.
   */
  async removeOrphanedLogs(isKnown: (uid: string) => boolean): Promise<void> {
    const { podLogsDir } = this.#options;
    const folders = await readdir(podLogsDir).catch((): string[] => []);
    const orphans = folders.filter((folder) => {
      const uid = uidOfLogsFolder(folder);
      return uid !== undefined && !isKnown(uid);
    });
    await Promise.allSettled(
      orphans.map((folder) => rm(join(podLogsDir, folder), { recursive: true, force: true })),
    );
  }

  /** Drops back-off entries that nothing has touched for long. */
  collectBackOffGarbage(): void {
    this.#starter.collectGarbage();
  }

  async #kill(
    pod: Pod,
    podStatus: RuntimePodStatus,
    actions: PodActions,
    signal: AbortSignal,
  ): Promise<readonly SyncFailure[]> {
    if (actions.killPod) {
      const failure = await attempt('KillPodSandboxError', 'sandbox', signal, () =>
        this.#killer.killPod(pod, podStatus, undefined, signal),
      );
      return failure === undefined ? [] : [failure];
    }
    const kills = actions.containersToKill.map((kill) =>
      attempt('KillContainerError', kill.name, signal, () =>
        this.#killer.killContainer(pod, podStatus, kill, signal),
      ),
    );
    const failures = (await Promise.all(kills)).filter((failure) => failure !== undefined);
    return failures.length > 0 ? failures : this.#reset(pod, podStatus, actions, signal);
  }

  async #reset(
    pod: Pod,
    podStatus: RuntimePodStatus,
    { containersToReset }: PodActions,
    signal: AbortSignal,
  ): Promise<readonly SyncFailure[]> {
    for (const { id, name, kill } of containersToReset) {
      const failure = await attempt('KillContainerError', name, signal, async () => {
        const message = `Container ${name} will be removed for restarting all containers`;
        if (kill) await this.#killer.killContainer(pod, podStatus, { id, name, reason: '', message }, signal);
        await this.#options.runtime.removeContainer(id);
      });
      if (failure !== undefined) return [failure];
    }
    return [];
  }

  async #createSandbox(pod: Pod, attemptNumber: number): Promise<string | SyncFailure> {
    const { runtime, recorder, podLogsDir } = this.#options;
    try {
      return await runtime.runPodSandbox(podSandboxConfig(pod, attemptNumber, podLogsDir));
    } catch (error) {
      const message = `Failed to create pod sandbox: ${errorMessage(error)}`;
      recorder.event(pod.metadata, 'Warning', 'FailedCreatePodSandBox', message);
      return { target: 'sandbox', reason: 'CreatePodSandboxError', message };
    }
  }

  /** Ephemeral containers, then init containers, then the regular ones, each list in the order of the spec. */
  async #start(
    pod: Pod,
    podStatus: RuntimePodStatus,
    actions: PodActions,
    sandboxId: string,
    signal: AbortSignal,
  ): Promise<readonly SyncFailure[]> {
    const sandboxConfig = podSandboxConfig(pod, actions.attempt, this.#options.podLogsDir);
    const failures: SyncFailure[] = [];
    for (const { container, mayBlock } of containersToStart(pod, actions)) {
      signal.throwIfAborted();
      const failure = await this.#starter.start(
        { pod, container, podStatus, sandboxId, sandboxConfig },
        signal,
      );
      if (failure === undefined) continue;
      failures.push({ target: container.name, ...failure });
      if (mayBlock) break;
    }
    return failures;
  }
}

/** `mayBlock`: what follows needs this one; when it cannot be started, nothing after it is. */
function containersToStart(
  { spec }: Pod,
  actions: PodActions,
): { container: Container | EphemeralContainer; mayBlock: boolean }[] {
  const pick = (list: readonly (Container | EphemeralContainer)[] | undefined, indices: readonly number[]) =>
    indices.map((index) => list?.[index]).filter((container) => container !== undefined);
  return [
    ...pick(spec.ephemeralContainers, actions.ephemeralContainersToStart).map((container) => ({
      container,
      mayBlock: false,
    })),
    ...pick(spec.initContainers, actions.initContainersToStart).map((container) => ({
      container,
      mayBlock: true,
    })),
    ...pick(spec.containers, actions.containersToStart).map((container) => ({ container, mayBlock: false })),
  ];
}

async function attempt(
  reason: string,
  target: string,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<SyncFailure | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return { target, reason, message: errorMessage(error) };
  }
}
