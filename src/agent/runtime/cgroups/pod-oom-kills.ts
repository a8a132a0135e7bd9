import { POD_UID_LABEL } from '../../policies/cri/cri-labels.ts';
import { RecentMap } from '../../policies/formats/lookups.ts';
import { SIGKILL_EXIT_CODE, type ContainerStatus } from '../../../types/cri.ts';
import type { RuntimeService } from '../service/runtime-service.ts';

const OOM_KILLED = 'OOMKilled';
const PODS_MAX = 1024;
/** Of one pod, dead instances that the runtime still has included. */
const CONTAINERS_MAX = 256;

interface PodKills {
  /** How many kills of the pod's group are accounted for. */
  seen: number;
  /** By the id of an ended container: whether one of these kills ended it. */
  readonly decided: RecentMap<string, boolean>;
}

/**
 * Finds out which containers the kernel has killed for want of memory where the runtime does not say so: on cgroup v2 containerd may look at
 * `memory.events` after the container and its group have gone. The pod's group counts the kills in all its containers, and outlives them.
 */
export class PodOOMKills {
  readonly #countOf: (uid: string) => number | undefined;
  readonly #pods = new RecentMap<string, PodKills>(PODS_MAX);

  /** `countOf`: the kills in a pod's group; undefined where the kernel does not count them. */
  constructor(countOf: (uid: string) => number | undefined) {
    this.#countOf = countOf;
  }

  /** Called before a container of the pod is made: earlier kills do not count. */
  look(uid: string): void {
    this.#of(uid);
  }

  /** The status, with the reason OOMKilled where the kernel has killed the container. */
  named(status: ContainerStatus): ContainerStatus {
    const uid = status.labels[POD_UID_LABEL];
    if (uid === undefined) return status;
    const pod = this.#of(uid);
    if (status.state !== 'CONTAINER_EXITED' || status.exitCode !== SIGKILL_EXIT_CODE) return status;
    let isOOM = pod.decided.get(status.id);
    if (isOOM === undefined) {
      const count = this.#countOf(uid) ?? pod.seen;
      isOOM = count > pod.seen;
      pod.seen = count;
      pod.decided.set(status.id, isOOM);
    }
    return isOOM && status.reason === 'Error' ? { ...status, reason: OOM_KILLED } : status;
  }

  #of(uid: string): PodKills {
    const known = this.#pods.get(uid);
    if (known) return known;
    const pod = { seen: this.#countOf(uid) ?? 0, decided: new RecentMap<string, boolean>(CONTAINERS_MAX) };
    this.#pods.set(uid, pod);
    return pod;
  }
}

/** The runtime, with the reason OOMKilled of containers of which it does not know it itself. `countOf`: as for PodOOMKills. */
export function namingOOMKills(
  runtime: RuntimeService,
  countOf: (uid: string) => number | undefined,
): RuntimeService {
  const kills = new PodOOMKills(countOf);
  return {
    ...runtime,
    createContainer: (sandboxId, config, sandboxConfig, options) => {
      kills.look(sandboxConfig.metadata.uid);
      return runtime.createContainer(sandboxId, config, sandboxConfig, options);
    },
    containerStatus: async (id, options) => kills.named(await runtime.containerStatus(id, options)),
  };
}
