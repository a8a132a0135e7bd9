import { containerStatusByName } from '../../policies/pod-actions/restart.ts';
import {
  containerGracePeriodSeconds,
  type ContainerKillReason,
  stopTimeoutSeconds,
  type TerminationPrerequisites,
  terminationPrerequisites,
} from '../../policies/termination/pod-termination.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { Container, Pod } from '../../../types/kubernetes.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../types/runtime-pod.ts';
import { allOrFirstFailure } from '../../../system/promises.ts';
import { runPreStopHook } from './lifecycle-hooks.ts';
import type { PodNode } from '../node/pod-node.ts';
import type { RuntimeService } from '../service/runtime-service.ts';
import { sleep } from '../../../system/timer.ts';
import { named } from '../../policies/formats/lookups.ts';

interface ContainerKill {
  readonly pod: Pod | undefined;
  readonly podStatus: RuntimePodStatus;
  readonly container: Container | undefined;
  readonly status: Pick<RuntimeContainerStatus, 'id' | 'name'>;
  readonly reason: ContainerKillReason;
  readonly message: string;
  /** Takes precedence over the spec. */
  readonly graceOverrideSeconds: number | undefined;
}

/** Ends containers and whole pods: hooks, order of sidecars and the stop itself share one grace period. */
export class PodKiller {
  readonly #context: AgentContext;
  readonly #runtime: RuntimeService;
  readonly #node: Pick<PodNode, 'podIP'>;
  /** Containers whose preStop hook has begun. A second stop does not run it again. */
  readonly #hooked = new Set<string>();

  /** `node` has the host of hooks that name none. */
  constructor(context: AgentContext, runtime: RuntimeService, node: Pick<PodNode, 'podIP'>) {
    this.#context = context;
    this.#runtime = runtime;
    this.#node = node;
  }

  /**
   * Stops all containers of the pod, sidecars last, then its sandboxes. `pod` is undefined if only the runtime knows the
   * pod. Rejects with the first failure after everything has been tried.
   */
  async killPod(
    pod: Pod | undefined,
    podStatus: RuntimePodStatus,
    graceOverrideSeconds: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const running = podStatus.containers.filter(({ state }) => state === 'running' || state === 'unknown');
    const prerequisites = pod && terminationPrerequisites(pod, new Set(running.map(({ name }) => name)));
    const { promise: allKnown, resolve: begin } = Promise.withResolvers<EndOrder | undefined>();
    // Not by name: several instances of one container may be running.
    const ends = running.map((status) => {
      const kill: ContainerKill = {
        pod,
        podStatus,
        container: pod && containerByName(pod, status.name),
        status,
        reason: '',
        message: '',
        graceOverrideSeconds,
      };
      const end: Promise<void> = allKnown.then((order) =>
        this.#killInOrder(kill, order?.before(status.name) ?? [], signal),
      );
      return { name: status.name, end };
    });
    begin(prerequisites && new EndOrder(prerequisites, ends));
    await allOrFirstFailure(ends.map(({ end }) => end));
    signal.throwIfAborted();
    await allOrFirstFailure(
      podStatus.sandboxes.map(({ id }) => this.#runtime.stopPodSandbox(id, { signal })),
    );
  }

  /** Stops one container within a sync: its spec changed, a probe failed, its state is unknown. */
  async killContainer(
    pod: Pod,
    podStatus: RuntimePodStatus,
    { id, name, reason, message }: { id: string; name: string; reason: ContainerKillReason; message: string },
    signal: AbortSignal,
  ): Promise<void> {
    const status =
      podStatus.containers.find((container) => container.id === id) ?? containerStatusByName(podStatus, name);
    if (status === undefined) return;
    const container = containerByName(pod, name);
    const kill = { pod, podStatus, container, status, reason, message, graceOverrideSeconds: undefined };
    await this.#killInOrder(kill, [], signal);
  }

  /** Stops a container that has just been started, so that `podStatus` does not show it. */
  async killStarted(
    pod: Pod,
    podStatus: RuntimePodStatus,
    { message, ...status }: { readonly id: string; readonly name: string; readonly message: string },
    signal: AbortSignal,
  ): Promise<void> {
    const container = containerByName(pod, status.name);
    const kill = { pod, podStatus, container, status, message, graceOverrideSeconds: undefined };
    await this.#killInOrder({ ...kill, reason: '' }, [], signal);
  }

  /** The hook, then the wait for the containers that have to end before, then the stop. Hook and wait share the grace period. */
  async #killInOrder(
    kill: ContainerKill,
    awaited: readonly Promise<void>[],
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, recorder } = this.#context;
    const { pod, container, status } = kill;
    const begun = clock.now();
    const spentSeconds = () => Math.floor((clock.now() - begun) / 1000);
    const grantedSeconds = grantedGraceSeconds(kill);

    if (pod)
      recorder.event(pod.metadata, 'Normal', 'Killing', kill.message || `Stopping container ${status.name}`, {
        container: status.name,
      });
    if (pod && container?.lifecycle?.preStop && grantedSeconds > 0 && !this.#hooked.has(status.id)) {
      this.#hooked.add(status.id);
      const podIP = () => this.#node.podIP(pod, kill.podStatus);
      const target = {
        ...this.#context,
        runtime: this.#runtime,
        pod,
        container,
        containerId: status.id,
        podIP,
      };
      await runPreStopHook(target, grantedSeconds, signal);
    }
    const leftSeconds = grantedSeconds - spentSeconds();
    if (awaited.length > 0 && leftSeconds > 0) await this.#within(leftSeconds, awaited, signal);
    signal.throwIfAborted();
    const timeoutSeconds = stopTimeoutSeconds({
      gracePeriodSeconds: grantedSeconds,
      spentSeconds: spentSeconds(),
    });
    await this.#runtime.stopContainer(status.id, timeoutSeconds, { signal });
    this.#hooked.delete(status.id);
  }

  async #within(seconds: number, awaited: readonly Promise<void>[], signal: AbortSignal): Promise<void> {
    const allEnded = new AbortController();
    const timeUp = sleep(this.#context.clock, seconds * 1000, signal, allEnded.signal);
    try {
      await Promise.race([Promise.allSettled(awaited), timeUp]);
    } finally {
      allEnded.abort();
    }
  }
}

/** Which ends a container has to wait for. A pod may have thousands of containers: sidecars share the wait for the regular ones. */
class EndOrder {
  readonly #prerequisites: TerminationPrerequisites;
  readonly #byName: ReadonlyMap<string, readonly { readonly end: Promise<void> }[]>;
  #regular: Promise<void> | undefined;

  constructor(
    prerequisites: TerminationPrerequisites,
    ends: readonly { readonly name: string; readonly end: Promise<void> }[],
  ) {
    this.#prerequisites = prerequisites;
    this.#byName = Map.groupBy(ends, ({ name }) => name);
  }

  before(name: string): readonly Promise<void>[] {
    const { regular, nextOf } = this.#prerequisites;
    if (!nextOf.has(name)) return [];
    const next = nextOf.get(name);
    const others = next === undefined ? [] : this.#endsOf([next]);
    if (regular.length === 0) return others;
    this.#regular ??= Promise.allSettled(this.#endsOf(regular)).then(() => undefined);
    return [this.#regular, ...others];
  }

  #endsOf(names: readonly string[]): readonly Promise<void>[] {
    return names.flatMap((name) => (this.#byName.get(name) ?? []).map(({ end }) => end));
  }
}

/** If only the runtime knows the container, there is no spec that grants time: zero, unless the caller grants some. */
function grantedGraceSeconds({ pod, container, reason, graceOverrideSeconds }: ContainerKill): number {
  if (graceOverrideSeconds !== undefined) return graceOverrideSeconds;
  return pod && container ? containerGracePeriodSeconds(pod, container, reason) : 0;
}

function containerByName({ spec }: Pod, name: string): Container | undefined {
  const { containers, initContainers = [], ephemeralContainers = [] } = spec;
  return named(containers, name) ?? named(initContainers, name) ?? named(ephemeralContainers, name);
}
