import { needsSandbox } from '../../policies/pod-actions/after-sync.ts';
import type { PodActions } from '../../policies/pod-actions/pod-actions.ts';
import { changesRunning } from '../../policies/resize/resize-actions.ts';
import { isRestartableInitContainer } from '../../policies/pod-actions/restart.ts';
import { sandboxView } from '../../policies/cri/runtime-pod-status.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { PodReference } from '../../../types/event-recorder.ts';
import type { Container, EphemeralContainer, Pod } from '../../../types/kubernetes.ts';
import type { PodSandboxConfig } from '../../../types/cri.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../types/runtime-pod.ts';
import { allOrFirstFailure } from '../../../system/promises.ts';
import type { StartFailure } from '../../policies/status/container-state.ts';
import { ContainerStarter, type ContainerStarterParts } from './container-starter.ts';
import { runtimeMessage } from '../service/runtime-service.ts';
import { RANK } from './start-gate.ts';
import { PodKiller } from './pod-killer.ts';

export interface PodRuntimeParts extends ContainerStarterParts {
  /** How many ended instances of a container are kept: at least one; all if negative. */
  readonly deadInstancesKept: number;
  /** Called when an instance has been ended that the same sync replaces. */
  readonly onContainerEnd?: (
    pod: PodReference,
    instance: Pick<RuntimeContainerStatus, 'id' | 'name' | 'restartCount' | 'exitCode' | 'reason'>,
  ) => void;
  /** Called when a new sandbox stands, with its network, before containers are started in it. */
  readonly onSandboxReady?: (pod: Pod) => void;
}

/** The reason of a failure to give running containers what has been allocated to them. */
export const RESIZE_ERROR = 'ResizePodInPlaceError';

/** A step of a sync that failed. `retryAt` (Unix ms): when to try again, if that is known. */
export interface SyncFailure {
  readonly target: string;
  readonly reason: string;
  readonly message: string;
  readonly retryAt?: number;
}

/** Carries out on a runtime the actions that `src/agent/policies` has decided upon. */
export class PodRuntime {
  readonly #context: AgentContext;
  readonly #parts: PodRuntimeParts;
  readonly #starter: ContainerStarter;
  readonly #killer: PodKiller;

  constructor(context: AgentContext, parts: PodRuntimeParts) {
    this.#context = context;
    this.#parts = parts;
    this.#killer = new PodKiller(context, parts.runtime, parts.node);
    this.#starter = new ContainerStarter(context, parts, this.#killer);
  }

  /** Why containers of the pod were not started at the last try, by container name. */
  startFailures(uid: string): ReadonlyMap<string, StartFailure> {
    return this.#starter.failures(uid);
  }

  /**
   * Carries out `actions` step by step. When `signal` aborts, no further step begins. A call that may start something is
   * awaited to its end, so that nothing is under way when this resolves or rejects.
   */
  async syncPod(
    pod: Pod,
    podStatus: RuntimePodStatus,
    actions: PodActions,
    signal: AbortSignal,
  ): Promise<readonly SyncFailure[]> {
    if (actions.createSandbox && actions.sandboxId !== '') {
      const message = 'Pod sandbox changed, it will be killed and re-created.';
      this.#context.recorder.event(pod.metadata, 'Normal', 'SandboxChanged', message);
    }
    const killFailures = await this.#kill(pod, podStatus, actions, signal);
    if (killFailures.length > 0) return killFailures;
    signal.throwIfAborted();
    if (!needsSandbox(actions)) return this.#resize(pod, podStatus, actions, signal);

    const prepared = await this.#prepare(pod, podStatus, actions, signal);
    return isFailure(prepared) ? [prepared] : this.#start(pod, actions, prepared, signal);
  }

  /** What runs on gets what has been allocated to it by now. */
  async #resize(
    pod: Pod,
    podStatus: RuntimePodStatus,
    { resize: actions, sandboxId }: PodActions,
    signal: AbortSignal,
  ): Promise<readonly SyncFailure[]> {
    const { resizer } = this.#parts.node;
    if (resizer === undefined || !changesRunning(actions)) return [];
    const end = this.#context.measurements?.resizes.carriedOut();
    const message = await resizer.resize({ pod, podStatus, sandboxId, actions }, signal);
    end?.(message === undefined ? 'success' : 'failure');
    return message === undefined ? [] : [{ target: pod.metadata.name, reason: RESIZE_ERROR, message }];
  }

  /** Ends all containers and sandboxes of the pod. `graceOverrideSeconds` takes precedence over the pod's spec. */
  async killPod(
    pod: Pod | undefined,
    podStatus: RuntimePodStatus,
    graceOverrideSeconds: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#killer.killPod(pod, podStatus, graceOverrideSeconds, signal);
  }

  /** Removes old instances of containers that newer ones have replaced. A removal that fails is tried next time. */
  async pruneDeadContainers(podStatus: RuntimePodStatus): Promise<void> {
    const { deadInstancesKept } = this.#parts;
    if (deadInstancesKept < 0) return;
    const seen = new Map<string, number>();
    const surplus = podStatus.containers.filter(({ name, state }) => {
      if (state !== 'exited') return false;
      const dead = (seen.get(name) ?? 0) + 1;
      seen.set(name, dead);
      // The last instance shows that a container has completed. Without it, the container would run again.
      return dead > Math.max(1, deadInstancesKept);
    });
    await Promise.allSettled(surplus.map((container) => this.#remove(podStatus, container)));
  }

  async #remove(pod: PodReference, container: RuntimeContainerStatus): Promise<void> {
    const { runtime, node } = this.#parts;
    // In this order: after a crash in between, the container is still there and leads to the removal of the other.
    await node.removing(pod, container);
    await runtime.removeContainer(container.id);
  }

  /** Removes what is left of a pod that has ended: containers, sandboxes, logs, folders. */
  async removePod(pod: PodReference, podStatus: RuntimePodStatus | undefined): Promise<void> {
    const { runtime, node } = this.#parts;
    const { containers = [], sandboxes = [] } = podStatus ?? {};
    await this.#starter.removing(pod.uid, { containers });
    await allOrFirstFailure(containers.map((container) => this.#remove(pod, container)));
    await allOrFirstFailure(sandboxes.map(({ id }) => runtime.removePodSandbox(id)));
    await node.remove(pod);
    this.#starter.forget(pod.uid);
  }

  /** Drops back-off entries that have not been used for long. */
  collectBackOffGarbage(): void {
    this.#starter.collectGarbage();
    this.#parts.node.collectGarbage();
  }

  async #kill(
    pod: Pod,
    podStatus: RuntimePodStatus,
    actions: PodActions,
    signal: AbortSignal,
  ): Promise<readonly SyncFailure[]> {
    if (actions.killPod) {
      const failure = await this.#attemptKill(pod, 'KillPodSandboxError', 'sandbox', signal, () =>
        this.#killer.killPod(pod, podStatus, undefined, signal),
      );
      if (failure !== undefined) return [failure];
      await this.#reportEnds(pod, podStatus, actions);
      return [];
    }
    const kills = actions.containersToKill.map((kill) =>
      this.#attemptKill(pod, 'KillContainerError', kill.name, signal, () =>
        this.#killer.killContainer(pod, podStatus, kill, signal),
      ),
    );
    const failures = (await Promise.all(kills)).filter((failure) => failure !== undefined);
    if (failures.length === 0) await this.#reportEnds(pod, podStatus, actions);
    return failures.length > 0 ? failures : this.#reset(pod, podStatus, actions, signal);
  }

  async #reset(
    pod: Pod,
    podStatus: RuntimePodStatus,
    { containersToReset }: PodActions,
    signal: AbortSignal,
  ): Promise<readonly SyncFailure[]> {
    for (const { id, name, kill } of containersToReset) {
      const failure = await this.#attemptKill(pod, 'KillContainerError', name, signal, async () => {
        const message = 'killing';
        if (kill) await this.#killer.killContainer(pod, podStatus, { id, name, reason: '', message }, signal);
        if (kill) await this.#reportEnd(pod, podStatus, id);
        // Its log stays until the pod is removed: the logs show how many instances there have been.
        await this.#parts.runtime.removeContainer(id);
      });
      if (failure !== undefined) return [failure];
    }
    return [];
  }

  /** Reports the end of killed containers before their successors start: PLEG does not read the pod during a sync. */
  async #reportEnds(pod: Pod, podStatus: RuntimePodStatus, actions: PodActions): Promise<void> {
    if (!needsSandbox(actions)) return;
    const running = podStatus.containers.filter(({ state }) => state === 'running');
    const killed = actions.killPod ? running : actions.containersToKill;
    await Promise.all(killed.map(({ id }) => this.#reportEnd(pod, podStatus, id)));
  }

  async #reportEnd({ metadata }: Pod, { containers }: RuntimePodStatus, id: string): Promise<void> {
    const { runtime, onContainerEnd } = this.#parts;
    const instance = containers.find((container) => container.id === id);
    if (onContainerEnd === undefined || instance === undefined) return;
    // After a failure, only the report of this end is missing.
    const status = await runtime.containerStatus(id).catch(() => undefined);
    if (status?.state !== 'CONTAINER_EXITED') return;
    const { exitCode, reason } = status;
    onContainerEnd(metadata, { ...instance, exitCode, reason });
  }

  async #attemptKill(
    pod: Pod,
    reason: string,
    target: string,
    signal: AbortSignal,
    kill: () => Promise<void>,
  ): Promise<SyncFailure | undefined> {
    try {
      await kill();
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      const message = errorMessage(error);
      const text = `error killing pod: ${reason} of ${target}: ${message}`;
      this.#context.recorder.event(pod.metadata, 'Warning', 'FailedKillPod', text);
      return { target, reason, message };
    }
  }

  /** The sandbox in which containers are to be started. Creates one if there is none to use. */
  async #prepare(
    pod: Pod,
    podStatus: RuntimePodStatus,
    { createSandbox, sandboxId, attempt: attemptNumber }: PodActions,
    signal: AbortSignal,
  ): Promise<PreparedSandbox | SyncFailure> {
    const { recorder, measurements } = this.#context;
    const { node, gate, onSandboxReady } = this.#parts;
    const hasUserNamespace = pod.spec.hostUsers === false;
    if (createSandbox) measurements?.turnover.podStarted(hasUserNamespace);
    try {
      const { config, runtimeHandler } = await node.sandbox(pod, attemptNumber, createSandbox);
      signal.throwIfAborted();
      if (!createSandbox) return { sandboxId, sandboxConfig: config, podStatus };
      const prepared = await gate.pass(RANK.sandbox, signal, () =>
        this.#createSandbox(pod, podStatus, config, runtimeHandler),
      );
      onSandboxReady?.(pod);
      return prepared;
    } catch (error) {
      if (createSandbox) measurements?.turnover.podStarted(hasUserNamespace, true);
      signal.throwIfAborted();
      const message = `Failed to create pod sandbox: ${runtimeMessage(error)}`;
      recorder.event(pod.metadata, 'Warning', 'FailedCreatePodSandBox', message);
      return { target: 'sandbox', reason: 'CreatePodSandboxError', message };
    }
  }

  /** Reads the new sandbox for the pod's IP, which containers may ask for. A pod on the node's network needs no such read. */
  async #createSandbox(
    pod: Pod,
    podStatus: RuntimePodStatus,
    sandboxConfig: PodSandboxConfig,
    runtimeHandler: string | undefined,
  ): Promise<PreparedSandbox> {
    const { runtime } = this.#parts;
    const sandboxId = await runtime.runPodSandbox(sandboxConfig, { runtimeHandler });
    if (pod.spec.hostNetwork === true) return { sandboxId, sandboxConfig, podStatus };
    const sandbox = sandboxView(await runtime.podSandboxStatus(sandboxId));
    const sandboxes = [sandbox, ...podStatus.sandboxes];
    return { sandboxId, sandboxConfig, podStatus: { ...podStatus, sandboxes } };
  }

  /**
   * Ephemeral containers, then init containers, then the regular ones, each list in the order of the spec. Before the regular ones, what
   * runs already is resized: it may have to give back what they get.
   */
  async #start(
    pod: Pod,
    actions: PodActions,
    sandbox: PreparedSandbox,
    signal: AbortSignal,
  ): Promise<readonly SyncFailure[]> {
    const { spec } = pod;
    const start = (container: Container | EphemeralContainer) =>
      this.#startOne({ pod, container, ...sandbox }, signal);
    const failures: SyncFailure[] = [];
    for (const container of picked(spec.ephemeralContainers, actions.ephemeralContainersToStart))
      failures.push(...(await start(container)));
    for (const container of picked(spec.initContainers, actions.initContainersToStart)) {
      const failed = await start(container);
      failures.push(...failed);
      // No later container is started, but the pod goes on without a sidecar, as with the kubelet.
      if (failed.length > 0 && !isRestartableInitContainer(container)) return failures;
    }
    failures.push(...(await this.#resize(pod, sandbox.podStatus, actions, signal)));
    for (const container of picked(spec.containers, actions.containersToStart))
      failures.push(...(await start(container)));
    return failures;
  }

  async #startOne(
    request: Parameters<ContainerStarter['start']>[0],
    signal: AbortSignal,
  ): Promise<readonly SyncFailure[]> {
    signal.throwIfAborted();
    const failure = await this.#starter.start(request, signal);
    return failure === undefined ? [] : [{ target: request.container.name, ...failure }];
  }
}

interface PreparedSandbox {
  readonly sandboxId: string;
  readonly sandboxConfig: PodSandboxConfig;
  /** Includes the sandbox. */
  readonly podStatus: RuntimePodStatus;
}

function isFailure(prepared: PreparedSandbox | SyncFailure): prepared is SyncFailure {
  return 'reason' in prepared;
}

function picked<T>(list: readonly T[] | undefined, indices: readonly number[]): readonly T[] {
  return indices.flatMap((index) => list?.[index] ?? []);
}
