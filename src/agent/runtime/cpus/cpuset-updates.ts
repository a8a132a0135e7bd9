/** Keeps the cpusets of running containers as they are to be: when CPUs are shared by others than before, containers follow. */
import type { AgentContext } from '../../../types/agent-context.ts';
import type { LinuxContainerResources } from '../../../types/cri.ts';
import { eachOf } from '../../../system/promises.ts';
import type { TimerHandle } from '../../../types/clock.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { NodeView } from '../node/pod-node.ts';
import type { ResizingRuntime } from '../service/runtime-service.ts';

/** To a runtime, zeros mean that it is to leave these. */
const UNCHANGED: LinuxContainerResources = {
  cpuPeriod: 0,
  cpuQuota: 0,
  cpuShares: 0,
  memoryLimitInBytes: 0,
  oomScoreAdj: 0,
};

/** Of calls to the runtime. */
const AT_ONCE = 8;

export interface CpusetUpdatesParts {
  readonly runtime: Pick<ResizingRuntime, 'updateContainerResources'>;
  /** Empty: the container stays where it is. */
  readonly cpusetOf: (uid: string, container: string) => string;
  /** Besides changes, this is how often is compared: cpuManagerReconcilePeriod. */
  readonly periodMs: number;
}

interface Told {
  /** Of the container. */
  readonly id: string;
  readonly cpuset: string;
}

export class CpusetUpdates {
  readonly #context: AgentContext;
  readonly #parts: CpusetUpdatesParts;
  /**
   * What each container was told last, by the UID of its pod and its name: an instance whose end nobody sees makes way for the next one.
   * Nothing is known of containers of a former agent: they are told.
   */
  readonly #told = new Map<string, Map<string, Told>>();
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

  /** The container was created with this cpuset, or has been told it. */
  has(uid: string, name: string, told: Told): void {
    const ofPod = this.#told.get(uid) ?? new Map<string, Told>();
    this.#told.set(uid, ofPod.set(name, told));
  }

  /** Nothing of the pod runs any more. */
  forget(uid: string): void {
    this.#told.delete(uid);
  }

  /** Compares now; once more if it is called meanwhile. */
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
      const running = [...this.#pods()].flatMap(({ uid, containers }) =>
        containers.filter(({ state }) => state === 'running').map(({ id, name }) => ({ uid, id, name })),
      );
      // Each container once, and all before the next turn: no container is told two things at a time.
      await eachOf(running, AT_ONCE, ({ uid, id, name }) => this.#tell(uid, id, name));
    }
    if (this.#pods) this.#timer = clock.setTimeout(() => this.update(), this.#parts.periodMs);
  }

  async #tell(uid: string, id: string, name: string): Promise<void> {
    const cpuset = this.#parts.cpusetOf(uid, name);
    const told = this.#told.get(uid)?.get(name);
    if (cpuset === '' || (told?.id === id && told.cpuset === cpuset)) return;
    try {
      await this.#parts.runtime.updateContainerResources(id, { ...UNCHANGED, cpusetCpus: cpuset });
      this.has(uid, name, { id, cpuset });
    } catch (error) {
      // The container may have just ended. Else it is tried again in the next period.
      const message = `Container ${name} does not get its CPUs ${cpuset} yet: ${errorMessage(error)}`;
      this.#context.logger.warn({ podUID: uid }, message);
    }
  }
}
