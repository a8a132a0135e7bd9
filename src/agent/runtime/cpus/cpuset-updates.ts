/** Updates the cpusets of containers when the shared CPUs change. */
import type { AgentContext } from '../../../types/agent-context.ts';
import type { LinuxContainerResources } from '../../../types/cri.ts';
import { eachOf } from '../../../system/promises.ts';
import type { TimerHandle } from '../../../types/clock.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { RuntimeContainerStatus } from '../../../types/runtime-pod.ts';
import type { NodeView } from '../node/pod-node.ts';
import type { ResizingRuntime } from '../service/runtime-service.ts';

/** For a runtime, 0 means that it must not change the value. */
const UNCHANGED: LinuxContainerResources = {
  cpuPeriod: 0,
  cpuQuota: 0,
  cpuShares: 0,
  memoryLimitInBytes: 0,
  oomScoreAdj: 0,
};

/** A container that was created may be started as it is: the runtime keeps for it what it gets now. */
const mayRun = ({ state }: RuntimeContainerStatus): boolean => state === 'running' || state === 'created';

/** Calls to the runtime at the same time. */
const AT_ONCE = 8;

export interface CpusetUpdatesParts {
  readonly runtime: Pick<ResizingRuntime, 'updateContainerResources'>;
  /** Empty: the container stays where it is. */
  readonly cpusetOf: (uid: string, container: string) => string;
  /** cpuManagerReconcilePeriod: how often all cpusets are checked, beside changes. */
  readonly periodMs: number;
}

interface KnownCpuset {
  /** Of the container. */
  readonly id: string;
  readonly cpuset: string;
}

export class CpusetUpdates {
  readonly #context: AgentContext;
  readonly #parts: CpusetUpdatesParts;
  /**
   * The last cpuset that the runtime got for each container, by the UID of its pod and its name. A new instance replaces the entry of the one before.
   * Containers of a former agent have no entry: they are updated.
   */
  readonly #known = new Map<string, Map<string, KnownCpuset>>();
  #pods: NodeView['pods'] | undefined;
  #timer: TimerHandle | undefined;
  #running: Promise<void> | undefined;
  #isOutdated = false;

  constructor(context: AgentContext, parts: CpusetUpdatesParts) {
    this.#context = context;
    this.#parts = parts;
  }

  start({ pods }: Pick<NodeView, 'pods'>): void {
    this.#pods = pods;
    this.update();
  }

  async stop(): Promise<void> {
    this.#pods = undefined;
    if (this.#timer !== undefined) this.#context.clock.clearTimeout(this.#timer);
    await this.#running;
  }

  /** The container was created with this cpuset, or updated to it. */
  has(uid: string, name: string, known: KnownCpuset): void {
    const ofPod = this.#known.get(uid) ?? new Map<string, KnownCpuset>();
    this.#known.set(uid, ofPod.set(name, known));
  }

  /** No container of the pod runs any more. */
  forget(uid: string): void {
    this.#known.delete(uid);
  }

  /** Checks all containers now, and once more if it is called meanwhile. */
  update(): void {
    this.#isOutdated = true;
    this.#running ??= this.#updateAll().finally(() => {
      this.#running = undefined;
      if (this.#isOutdated && this.#pods) this.update();
    });
  }

  async #updateAll(): Promise<void> {
    const { clock } = this.#context;
    if (this.#timer !== undefined) clock.clearTimeout(this.#timer);
    while (this.#isOutdated && this.#pods) {
      this.#isOutdated = false;
      const current = [...this.#pods()].flatMap(({ uid, containers }) =>
        containers.filter(mayRun).map(({ id, name }) => ({ uid, id, name })),
      );
      // One call for each container, and all calls end before the next round: a container never gets two calls at a time.
      await eachOf(current, AT_ONCE, ({ uid, id, name }) => this.#updateContainer(uid, id, name));
    }
    if (this.#pods) this.#timer = clock.setTimeout(() => this.update(), this.#parts.periodMs);
  }

  async #updateContainer(uid: string, id: string, name: string): Promise<void> {
    const cpuset = this.#parts.cpusetOf(uid, name);
    const last = this.#known.get(uid)?.get(name);
    if (cpuset === '' || (last?.id === id && last.cpuset === cpuset)) return;
    // A call that fails may have been carried out: then nothing is known.
    this.#known.get(uid)?.delete(name);
    try {
      await this.#parts.runtime.updateContainerResources(id, { ...UNCHANGED, cpusetCpus: cpuset });
      this.has(uid, name, { id, cpuset });
    } catch (error) {
      // The container may have just ended. If not, the next period tries again.
      const message = `Container ${name} does not get its CPUs ${cpuset} yet: ${errorMessage(error)}`;
      this.#context.logger.warn({ podUID: uid }, message);
    }
  }
}
