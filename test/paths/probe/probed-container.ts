/** A container that starts, ends and is replaced, and the status of its pod, made from what the runtime reports. */
import type { ProbeManager } from '../../../src/agent/actors/probes/probe-manager.ts';
import { generateAPIPodStatus } from '../../../src/agent/policies/status/pod-status.ts';
import { podSandboxConfig } from '../../../src/agent/policies/cri/sandbox-config.ts';
import { rfc3339 } from '../../../src/agent/policies/formats/time.ts';
import { readPod } from '../../../src/agent/runtime/pleg/pod-reader.ts';
import type { PodSandboxConfig } from '../../../src/types/cri.ts';
import type { Pod, PodStatus } from '../../../src/types/kubernetes.ts';
import type { RuntimePodStatus } from '../../../src/types/runtime-pod.ts';
import { runContainer } from '../../agent/runtime/pods/pod-bed.ts';
import type { PathNode } from '../path-node.ts';
import type { World } from './probe-environment.ts';

export class ProbedContainer {
  readonly #pathNode: PathNode;
  readonly #pod: Pod;
  readonly #sandboxConfig: PodSandboxConfig;
  readonly #ids: string[] = [];
  readonly #startedAt = new Map<string, number>();
  #runningId: string | undefined;
  #sandboxId = '';

  constructor(pathNode: PathNode, pod: Pod) {
    this.#pathNode = pathNode;
    this.#pod = pod;
    this.#sandboxConfig = podSandboxConfig(pod, 0, { podLogsDir: pathNode.podLogsDir });
  }

  async prepare(): Promise<void> {
    this.#sandboxId = await this.#pathNode.runtime.runPodSandbox(this.#sandboxConfig);
  }

  /** `c1` for the ID of the first instance. */
  nameOf(id: string | undefined): string | undefined {
    return id === undefined ? undefined : `c${String(this.#ids.indexOf(id) + 1)}`;
  }

  isRunning(id: string): boolean {
    return id === this.#runningId;
  }

  /** The time since it started, by the agent's clock. */
  ageMs(id: string): number {
    return this.#pathNode.clock.now() - (this.#startedAt.get(id) ?? 0);
  }

  /** Brings the container to that instance and state. The instance before it has ended then. */
  async become({ id: name, state }: World): Promise<void> {
    const number = Number(name.slice(1));
    while (this.#ids.length < number) await this.#startNext();
    if (state !== 'running') await this.#end(state === 'over' ? 0 : 1);
  }

  async status(probes: ProbeManager, previous: PodStatus | undefined): Promise<PodStatus> {
    const { clock } = this.#pathNode;
    const pod = this.#pod;
    const { uid } = pod.metadata;
    return generateAPIPodStatus({
      pod,
      podStatus: await this.#seen(),
      ...(previous && { previous }),
      podIsTerminal: false,
      startFailures: new Map(),
      probeResults: (probe, id) => probes.results(uid)[probe].get(id),
      runtimeName: 'test',
      hostIPs: ['127.0.0.1'],
      now: rfc3339(clock.now()),
    });
  }

  /** The probe works with the agent's clock, so the start times of real processes are replaced by those of that clock. */
  async #seen(): Promise<RuntimePodStatus> {
    const { runtime, clock } = this.#pathNode;
    const seen = await readPod(runtime, this.#pod.metadata, clock.now());
    const containers = seen.containers.map((container) => ({
      ...container,
      startedAt: this.#startedAt.get(container.id) ?? 0,
    }));
    return { ...seen, containers };
  }

  async #startNext(): Promise<void> {
    await this.#end(1);
    const [container] = this.#pod.spec.containers;
    const attempt = this.#ids.length;
    const { runtime, clock } = this.#pathNode;
    const id = await runContainer(
      runtime,
      this.#pod,
      container!,
      this.#sandboxId,
      this.#sandboxConfig,
      attempt,
    );
    this.#ids.push(id);
    this.#startedAt.set(id, clock.now());
    this.#runningId = id;
  }

  async #end(exitCode: number): Promise<void> {
    const id = this.#runningId;
    this.#runningId = undefined;
    if (id !== undefined) await this.#pathNode.exit(id, exitCode);
  }
}
