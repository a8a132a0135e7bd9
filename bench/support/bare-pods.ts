/** Only the CRI calls that pods need: the lower bound for every node agent. */
import { systemClock } from '../../src/system/timer.ts';
import { testContext } from '../../test/support/test-context.ts';
import { createCriRuntime } from '../../src/agent/runtime/cri/cri-runtime.ts';
import type { RuntimeService } from '../../src/agent/runtime/service/runtime-service.ts';
import type { ContainerdBed } from '../../test/support/containerd/containerd.ts';
import { removeCgroups } from '../../test/support/containerd/wipe.ts';
import { nowMs } from './measures.ts';
import { type BarePodConfig, barePodConfig, podCgroups } from './pod-configs.ts';

const REQUEST_TIMEOUT_MS = 120_000;
const GRACE_PERIOD_SECONDS = 30;
const REMOVALS_AT_ONCE = 8;

export interface BarePod {
  readonly config: BarePodConfig;
  readonly sandboxId: string;
  readonly containerId: string;
}

export class BarePods {
  readonly #bed: ContainerdBed;
  readonly #runtime: RuntimeService;

  constructor(bed: ContainerdBed) {
    this.#bed = bed;
    const { endpoint } = bed;
    this.#runtime = createCriRuntime(testContext({ clock: systemClock }), {
      endpoint,
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
    });
  }

  /** Starts `count` pods, some at a time. Also returns when it began, in Unix milliseconds. */
  async start(count: number, concurrency: number): Promise<{ begunMs: number; pods: readonly BarePod[] }> {
    const configs = Array.from({ length: count }, (_, index) => barePodConfig(this.#bed, `pod-${index}`));
    const begunMs = nowMs();
    return { begunMs, pods: await eachOf(configs, concurrency, (config) => this.#startPod(config)) };
  }

  /** Ends the pods and removes them. Returns when it began, in Unix milliseconds. */
  async end(pods: readonly BarePod[], concurrency: number): Promise<number> {
    const begunMs = nowMs();
    await eachOf(pods, concurrency, (pod) => this.#endPod(pod));
    return begunMs;
  }

  /** Restarts the pod's container; the old one stays, as with the kubelet. Returns when it began, in Unix milliseconds. */
  async restart({ config, sandboxId }: BarePod): Promise<number> {
    const begunMs = nowMs();
    await this.#startContainer(sandboxId, config, 1);
    return begunMs;
  }

  /** Removes all pods, also those of other clients. */
  async removeAll(): Promise<void> {
    await eachOf(await this.#runtime.listPodSandbox(), REMOVALS_AT_ONCE, async ({ id }) => {
      await this.#runtime.stopPodSandbox(id);
      await this.#runtime.removePodSandbox(id);
    });
  }

  /** Removes the cgroups of pods: the runtime creates them, but does not remove them. */
  cleanUp(): void {
    removeCgroups(podCgroups(this.#bed));
  }

  close(): Promise<void> {
    return this.#runtime.close();
  }

  async #startPod(config: BarePodConfig): Promise<BarePod> {
    const sandboxId = await this.#runtime.runPodSandbox(config.sandbox);
    return { config, sandboxId, containerId: await this.#startContainer(sandboxId, config, 0) };
  }

  async #startContainer(sandboxId: string, config: BarePodConfig, attempt: number): Promise<string> {
    const id = await this.#runtime.createContainer(sandboxId, config.container(attempt), config.sandbox);
    await this.#runtime.startContainer(id);
    return id;
  }

  async #endPod({ sandboxId, containerId }: BarePod): Promise<void> {
    await this.#runtime.stopContainer(containerId, GRACE_PERIOD_SECONDS);
    await this.#runtime.stopPodSandbox(sandboxId);
    await this.#runtime.removeContainer(containerId);
    await this.#runtime.removePodSandbox(sandboxId);
  }
}

async function eachOf<T, R>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const worker = async () => {
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker));
  return results;
}
