import {
  type BackOffEntry,
  type BackOffOptions,
  backOffKey,
  crashLoopBackOffMessage,
  decideBackOff,
  keepBackOffEntry,
} from '../../policies/pod-actions/back-off.ts';
import { DEVICES_ANNOTATION } from '../../policies/cri/cri-labels.ts';
import { containerHash, containerStatusByName } from '../../policies/pod-actions/restart.ts';
import type { StartFailure } from '../../policies/status/container-state.ts';
import { podText } from '../../policies/pod/pod-kinds.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { ContainerConfig, PodSandboxConfig } from '../../../types/cri.ts';
import { errorKind, type ErrorKind, errorMessage } from '../../../types/errors.ts';
import type { Container, EphemeralContainer, Pod } from '../../../types/kubernetes.ts';
import type { ContainerType } from '../../../types/measurements.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../types/runtime-pod.ts';
import { ImageError, type ImageInUse, type PodNode } from '../node/pod-node.ts';
import { runPostStartHook } from './lifecycle-hooks.ts';
import { measuredImageVolumes } from './measured-image-volumes.ts';
import { InstanceCounts, type InstanceCountsStore } from './instance-counts.ts';
import type { PodKiller } from './pod-killer.ts';
import { type RuntimeService, unlessNotFound } from '../service/runtime-service.ts';
import { RANK, type StartGate } from './start-gate.ts';

export interface ContainerStarterParts {
  readonly runtime: RuntimeService;
  readonly backOff: BackOffOptions;
  /** Without it, how often containers of removed pods have run is forgotten when the agent stops. */
  readonly instanceCounts?: InstanceCountsStore;
  readonly node: PodNode;
  readonly gate: StartGate;
}

/** Why a container was not started, and from when on trying again is worth it (Unix ms), if that is known. */
interface FailedStart extends StartFailure {
  readonly retryAt?: number;
}

interface StartRequest {
  readonly pod: Pod;
  readonly container: Container | EphemeralContainer;
  readonly podStatus: RuntimePodStatus;
  readonly sandboxId: string;
  readonly sandboxConfig: PodSandboxConfig;
}

/** Starts containers: back-off, image, configuration, create, start, postStart hook. Remembers why a start failed. */
export class ContainerStarter {
  readonly #context: AgentContext;
  readonly #parts: ContainerStarterParts;
  readonly #killer: Pick<PodKiller, 'killStarted'>;
  readonly #backOffs = new Map<string, { uid: string; entry: BackOffEntry }>();
  readonly #failures = new Map<string, Map<string, FailedStart>>();
  readonly #instanceCounts: InstanceCounts;

  /** `killer` kills containers whose postStart hook has failed. */
  constructor(context: AgentContext, parts: ContainerStarterParts, killer: Pick<PodKiller, 'killStarted'>) {
    this.#context = context;
    this.#parts = parts;
    this.#killer = killer;
    this.#instanceCounts = new InstanceCounts(context, parts.instanceCounts);
  }

  failures(uid: string): ReadonlyMap<string, StartFailure> {
    return this.#failures.get(uid) ?? new Map<string, FailedStart>();
  }

  /** Called before containers of the pod are removed: notes their counts, in case the pod comes back. */
  removing(uid: string, podStatus: Pick<RuntimePodStatus, 'containers'>): Promise<void> {
    return this.#instanceCounts.note(uid, podStatus);
  }

  forget(uid: string): void {
    this.#failures.delete(uid);
    for (const [key, backOff] of this.#backOffs) if (backOff.uid === uid) this.#backOffs.delete(key);
  }

  collectGarbage(): void {
    this.#instanceCounts.collectGarbage();
    const now = this.#context.clock.now();
    for (const [key, { entry }] of this.#backOffs) {
      if (keepBackOffEntry(entry, now, this.#parts.backOff) === undefined) this.#backOffs.delete(key);
    }
  }

  /** Resolves to undefined when the container runs. */
  async start(request: StartRequest, signal: AbortSignal): Promise<FailedStart | undefined> {
    const failure = owingHook(request)
      ? await this.#tryToStart(request, signal)
      : (this.#inBackOff(request) ?? (await this.#measured(request, signal)));
    this.#remember(request, failure);
    return failure;
  }

  /** As with the kubelet, a try in a back-off does not count. */
  async #measured(request: StartRequest, signal: AbortSignal): Promise<FailedStart | undefined> {
    const turnover = this.#context.measurements?.turnover;
    const type = containerType(request);
    turnover?.containerStarted(type);
    const failure = await this.#tryToStart(request, signal);
    if (failure) turnover?.containerStarted(type, failure.reason);
    return failure;
  }

  #inBackOff({ pod, container, podStatus }: StartRequest): FailedStart | undefined {
    const { clock, recorder } = this.#context;
    const key = backOffKey(pod, container);
    const last = podStatus.containers.find(
      ({ name, state }) => name === container.name && state === 'exited',
    );
    const moment = { now: clock.now(), finishedAt: last?.finishedAt };
    const decision = decideBackOff(this.#backOffs.get(key)?.entry, moment, this.#parts.backOff);
    if (decision.entry) this.#backOffs.set(key, { uid: pod.metadata.uid, entry: decision.entry });
    if (!decision.inBackOff) return undefined;
    const message = crashLoopBackOffMessage(pod, container.name, decision.entry.backOffMs);
    const text = `Back-off restarting failed container ${container.name} in pod ${podText(pod)}`;
    recorder.event(pod.metadata, 'Warning', 'BackOff', text, { container: container.name });
    return { reason: 'CrashLoopBackOff', message, retryAt: decision.nextRestartAt };
  }

  async #tryToStart(request: StartRequest, signal: AbortSignal): Promise<FailedStart | undefined> {
    const { pod, container } = request;
    try {
      await this.#run(request, signal);
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      const message = errorMessage(error);
      // The image manager has recorded the event.
      if (error instanceof ImageError) return { reason: error.reason, message, retryAt: error.retryAt };
      const reason = error instanceof StepError ? error.reason : 'RunContainerError';
      // The hook has recorded its own event.
      if (reason !== 'PostStartHookError') {
        const about = { container: container.name };
        this.#context.recorder.event(pod.metadata, 'Warning', 'Failed', `Error: ${message}`, about);
      }
      return { reason, message, retryAt: error instanceof StepError ? error.retryAt : undefined };
    }
  }

  async #run(request: StartRequest, signal: AbortSignal): Promise<void> {
    const { node } = this.#parts;
    const { pod, container, sandboxConfig } = request;
    const owing = owingHook(request);
    if (owing) return step('PostStartHookError', () => this.#postStart(request, owing.id, signal));
    const image = await node.image(pod, container, sandboxConfig, signal);
    const made = await step('CreateContainerError', () => this.#settleUnstarted(request));
    const started = made && (await this.#startAsMade(request, made, image, signal));
    const id = started ?? (await this.#createAndStart(request, image, signal));
    await step('PostStartHookError', () => this.#postStart(request, id, signal));
  }

  async #config(
    { pod, container, podStatus }: StartRequest,
    attempt: number,
    image: ImageInUse,
    signal: AbortSignal,
  ): Promise<ContainerConfig> {
    const config = await step('CreateContainerConfigError', () =>
      this.#parts.node.container({ pod, container, attempt, podStatus, image }),
    );
    signal.throwIfAborted();
    return config;
  }

  #nextAttempt({ pod, podStatus, container }: StartRequest): number {
    const latest = containerStatusByName(podStatus, container.name);
    if (latest !== undefined) return latest.restartCount + 1;
    const { node } = this.#parts;
    const past = this.#instanceCounts.instances(pod.metadata.uid, container.name);
    return Math.max(past, node.pastInstances(pod.metadata, container.name));
  }

  async #createAndStart(request: StartRequest, image: ImageInUse, signal: AbortSignal): Promise<string> {
    const { recorder, measurements } = this.#context;
    const { node, gate } = this.#parts;
    const { pod, container, sandboxId, sandboxConfig } = request;
    const attempt = this.#nextAttempt(request);
    const config = await this.#config(request, attempt, image, signal);
    // Every call is awaited to its end: a call that is given up could still start something later (I2).
    return gate.pass(RANK.container, signal, async () => {
      const create = () => this.#create(sandboxId, config, sandboxConfig, image);
      const id = await step('CreateContainerError', () =>
        measuredImageVolumes(measurements?.turnover, request, create),
      );
      node.created(pod.metadata, id, config, sandboxConfig.logDirectory);
      recorder.event(pod.metadata, 'Normal', 'Created', 'Container created', {
        container: container.name,
        attempt,
      });
      signal.throwIfAborted();
      await this.#startCreated(request, id, attempt);
      return id;
    });
  }

  async #startCreated({ pod, container }: StartRequest, id: string, attempt: number): Promise<void> {
    await step('RunContainerError', () => this.#parts.runtime.startContainer(id));
    this.#context.recorder.event(pod.metadata, 'Normal', 'Started', 'Container started', {
      container: container.name,
      attempt,
    });
  }

  /** Resolves to the id when the container runs; to undefined if it could not be used and has been removed. */
  async #startAsMade(
    request: StartRequest,
    made: RuntimeContainerStatus,
    image: ImageInUse,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { runtime, node, gate } = this.#parts;
    const { pod, podStatus, sandboxConfig } = request;
    const { id } = made;
    const config = await this.#config(request, made.restartCount, image, signal);
    // Another container may have the devices that it was created with.
    if (made.devices !== config.annotations[DEVICES_ANNOTATION]) {
      await this.#discard(podStatus, made);
      return undefined;
    }
    node.reused(pod.metadata, id, config, sandboxConfig.logDirectory);
    try {
      await gate.pass(RANK.container, signal, () => this.#startCreated(request, id, made.restartCount));
      return id;
    } catch (error) {
      signal.throwIfAborted();
      const state = (await unlessNotFound(runtime.containerStatus(id)))?.state;
      // An earlier start has succeeded.
      if (state === 'CONTAINER_RUNNING') return id;
      // An earlier start may be under way or have ended: the state will show it soon.
      const isUnusable = state === 'CONTAINER_CREATED' && kindOfCause(error) === 'FailedPrecondition';
      if (state !== undefined && !isUnusable) throw this.#soon('RunContainerError', error);
      await this.#discard(podStatus, made);
      return undefined;
    }
  }

  async #discard(podStatus: RuntimePodStatus, instance: RuntimeContainerStatus): Promise<void> {
    await this.#parts.node.removing(podStatus, instance);
    await this.#parts.runtime.removeContainer(instance.id);
  }

  /**
   * An instance that was created and has not started: its agent died in between, or its start was not answered. It is started
   * now in place of a new one, so that a start still under way cannot lead to two running instances. Instances that cannot
   * be used are removed.
   */
  async #settleUnstarted({
    container,
    podStatus,
    sandboxId,
  }: StartRequest): Promise<RuntimeContainerStatus | undefined> {
    const instances = podStatus.containers.filter(({ name }) => name === container.name);
    const unstarted = instances.filter(({ state }) => state === 'created');
    const attempts = instances
      .filter(({ state }) => state !== 'created')
      .map(({ restartCount }) => restartCount);
    const usable = unstarted.find(
      ({ podSandboxId, hash, restartCount }) =>
        podSandboxId === sandboxId &&
        hash === containerHash(container) &&
        restartCount > Math.max(-1, ...attempts),
    );
    for (const instance of unstarted) if (instance !== usable) await this.#discard(podStatus, instance);
    return usable;
  }

  /** An earlier call is at work on the container: its outcome shows within a second, so the next try comes soon. */
  #soon(reason: WaitingReason, error: unknown): StepError {
    const cause = error instanceof StepError ? error.cause : error;
    return new StepError(reason, cause, this.#context.clock.now() + SOON_MS);
  }

  async #create(
    sandboxId: string,
    config: ContainerConfig,
    sandboxConfig: PodSandboxConfig,
    { imageRef }: ImageInUse,
  ): Promise<string> {
    try {
      return await this.#parts.runtime.createContainer(sandboxId, config, sandboxConfig);
    } catch (error) {
      if (errorKind(error) === 'NotFound') this.#parts.node.forgetImage(imageRef);
      throw errorKind(error) === 'AlreadyExists' ? this.#soon('CreateContainerError', error) : error;
    }
  }

  /** A container whose hook failed is killed; its restart policy says what comes next. */
  async #postStart(
    { pod, container, podStatus }: StartRequest,
    containerId: string,
    signal: AbortSignal,
  ): Promise<void> {
    if (!container.lifecycle?.postStart) return;
    try {
      const { runtime, node } = this.#parts;
      const podIP = () => node.podIP(pod, podStatus);
      const target = { ...this.#context, runtime, pod, container, containerId, podIP };
      await runPostStartHook(target, signal);
      // If the agent dies before this is on the disk, the next one runs the hook again.
      await node.rememberContainer(pod.metadata.uid, containerId, { hooked: true });
    } catch (error) {
      // After an abort the pod is stopped, and this container with it.
      signal.throwIfAborted();
      const kill = { id: containerId, name: container.name, message: 'FailedPostStartHook' };
      await this.#killer.killStarted(pod, podStatus, kill, signal);
      throw error;
    }
  }

  #remember({ pod, container }: StartRequest, failure: FailedStart | undefined): void {
    const { uid } = pod.metadata;
    const failures = this.#failures.get(uid) ?? new Map<string, FailedStart>();
    if (failure) failures.set(container.name, failure);
    else failures.delete(container.name);
    if (failures.size > 0) this.#failures.set(uid, failures);
    else this.#failures.delete(uid);
  }
}

/** The instance that an earlier agent has started, and whose hook is still to run. */
function owingHook({ container, podStatus, sandboxId }: StartRequest): RuntimeContainerStatus | undefined {
  return podStatus.containers.find(
    ({ name, owesHook, podSandboxId }) =>
      name === container.name && owesHook === true && podSandboxId === sandboxId,
  );
}

type WaitingReason =
  | 'CreateContainerConfigError'
  | 'CreateContainerError'
  | 'RunContainerError'
  | 'PostStartHookError';

const SOON_MS = 1_000;

/** A step of a start that failed: `reason` is what the container's waiting state says. */
class StepError extends Error {
  readonly reason: WaitingReason;
  /** Unix ms, if it is known. */
  readonly retryAt?: number;

  constructor(reason: WaitingReason, cause: unknown, retryAt?: number) {
    super(errorMessage(cause), { cause });
    this.reason = reason;
    this.retryAt = retryAt;
  }
}

async function step<T>(reason: WaitingReason, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StepError) throw error;
    // The runtime refuses the request as such: the pod's configuration is wrong.
    const misconfigured = reason === 'CreateContainerError' && errorKind(error) === 'InvalidArgument';
    throw new StepError(misconfigured ? 'CreateContainerConfigError' : reason, error);
  }
}

function kindOfCause(error: unknown): ErrorKind {
  return errorKind(error instanceof StepError ? error.cause : error);
}

function containerType({ pod: { spec }, container: { name } }: StartRequest): ContainerType {
  const isIn = (list: readonly { readonly name: string }[] = []) => list.some((one) => one.name === name);
  if (isIn(spec.initContainers)) return 'init_container';
  return isIn(spec.ephemeralContainers) ? 'ephemeral_container' : 'container';
}
