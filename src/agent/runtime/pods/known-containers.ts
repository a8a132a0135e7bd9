/** What the agent knows of running containers and no runtime does. Kept on disk, so that it outlives the agent. */
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isJsonObject } from '../../policies/formats/canonical-json.ts';
import { isAllocation } from '../../policies/resize/allocation.ts';
import { makeFolder } from '../../../system/make-folder.ts';
import type { GivenResources, KnownContainer, PodAllocation } from '../../../types/runtime-pod.ts';
import { readPlainFile } from '../../../system/plain-file.ts';
import { replaceFile } from '../../../system/replace-file.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage } from '../../../types/errors.ts';
import { podPaths, PRIVATE_FOLDER_MODE } from '../volumes/pod-paths.ts';

const PRIVATE_FILE_MODE = 0o600;
const BYTES_MAX = 1024 * 1024;
/** Of one pod; the oldest instances are forgotten first. */
const INSTANCES_MAX = 500;

interface PodMemory {
  readonly containers: Map<string, KnownContainer>;
  /** Undefined: what its spec said when it came. */
  allocation?: PodAllocation | undefined;
  /** The last write, which the next one waits for. */
  written: Promise<void>;
}

/** `<podsDir>/<uid>/known-containers`, JSON. */
export class KnownContainers {
  readonly #context: AgentContext;
  readonly #podsDir: string;
  readonly #pods = new Map<string, PodMemory>();
  #warned = false;

  constructor(context: AgentContext, podsDir: string) {
    this.#context = context;
    this.#podsDir = podsDir;
  }

  /** Reads what an earlier agent has kept, once. What cannot be read counts as not known. */
  recall(uid: string): PodMemory {
    const recalled = this.#pods.get(uid) ?? { ...this.#read(uid), written: Promise.resolve() };
    this.#pods.set(uid, recalled);
    return recalled;
  }

  /** Undefined where it was not recalled. */
  of(uid: string, containerId: string): KnownContainer | undefined {
    const containers = this.#pods.get(uid)?.containers;
    return containers ? (containers.get(containerId) ?? {}) : undefined;
  }

  /** Resolves when it is written, or cannot be: then the next agent does not know it. */
  async note(uid: string, containerId: string, known: KnownContainer): Promise<void> {
    const pod = this.recall(uid);
    pod.containers.set(containerId, { ...pod.containers.get(containerId), ...known });
    for (const id of pod.containers.keys())
      if (pod.containers.size > INSTANCES_MAX) pod.containers.delete(id);
    await this.#writeNext(uid, pod);
  }

  async #writeNext(uid: string, pod: PodMemory): Promise<void> {
    pod.written = pod.written.then(() => this.#write(uid, pod));
    await pod.written;
  }

  /** What a resize has granted the pod; undefined where there was none. */
  allocation(uid: string): PodAllocation | undefined {
    return this.recall(uid).allocation;
  }

  /** Is written together with what containers have: no death of the agent comes between the two. */
  async allocate(uid: string, allocation: PodAllocation): Promise<void> {
    const pod = this.recall(uid);
    pod.allocation = allocation;
    await this.#writeNext(uid, pod);
  }

  /** Resolves when all is written, or cannot be. */
  async written(uid: string): Promise<void> {
    await this.#pods.get(uid)?.written;
  }

  async remove(uid: string): Promise<void> {
    const pod = this.#pods.get(uid);
    this.#pods.delete(uid);
    await pod?.written;
    await rm(this.#file(uid), { force: true });
  }

  #read(uid: string): Pick<PodMemory, 'containers' | 'allocation'> {
    try {
      const { containers, allocation } = JSON.parse(readPlainFile(this.#file(uid), BYTES_MAX)) as {
        containers: Record<string, KnownContainer>;
        allocation?: unknown;
      };
      return {
        containers: new Map(Object.entries(containers).map(([id, known]) => [id, checked(known)])),
        ...(isAllocation(allocation) && { allocation }),
      };
    } catch {
      return { containers: new Map() };
    }
  }

  async #write(uid: string, pod: PodMemory): Promise<void> {
    if (this.#pods.get(uid) !== pod) return;
    try {
      const file = this.#file(uid);
      await makeFolder(dirname(file), PRIVATE_FOLDER_MODE);
      const { containers, allocation } = pod;
      const content = JSON.stringify({ containers: Object.fromEntries(containers), allocation });
      await replaceFile(file, `${content}\n`, { mode: PRIVATE_FILE_MODE });
      this.#warned = false;
    } catch (error) {
      this.#warn(error);
    }
  }

  #file(uid: string): string {
    return podPaths(this.#podsDir, uid).knownContainersFile;
  }

  /** Warns once for all pods: a disk that refuses one file refuses all of them. */
  #warn(error: unknown): void {
    if (this.#warned) return;
    this.#warned = true;
    const message = `Cannot keep what is known of containers, their postStart hooks may run again under the next agent: ${errorMessage(error)}`;
    this.#context.logger.warn({}, message);
  }
}

function checked(known: unknown): KnownContainer {
  const { hooked, started, ready, given } = (known ?? {}) as Partial<Record<keyof KnownContainer, unknown>>;
  return {
    ...(hooked === true && { hooked }),
    ...(typeof started === 'boolean' && { started }),
    ...(typeof ready === 'boolean' && { ready }),
    ...(isGiven(given) && { given }),
  };
}

function isGiven(given: unknown): given is GivenResources {
  const { container } = (given ?? {}) as { readonly container?: unknown };
  return isJsonObject(container);
}
