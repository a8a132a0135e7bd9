import type { FilesystemUsage } from '../../../../types/cri.ts';
import type { AgentContext } from '../../../../types/agent-context.ts';
import { errorMessage, StateletError } from '../../../../types/errors.ts';
import type { FsStats, RuntimeStats } from '../../../../types/stats.ts';
import type { CallOptions, RuntimeService } from '../../service/runtime-service.ts';
import { fileSystemStats, isSameFileSystem } from './file-systems.ts';

export interface NodeDisksParts {
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly runtime: Pick<RuntimeService, 'imageFsInfo' | 'containerFsInfo'>;
}

/** Tells eviction which disk the removal of images or containers empties. */
export interface DiskLayout {
  /** Images are on another file system than the root directory. */
  readonly dedicatedImageFs: boolean;
  /** The writable layers of containers are on another file system than images. */
  readonly dedicatedContainerFs: boolean;
}

/** The file systems of the node: of the root directory, of logs, and of the runtime. */
export class NodeDisks {
  readonly #context: AgentContext;
  readonly #parts: NodeDisksParts;

  constructor(context: AgentContext, parts: NodeDisksParts) {
    this.#context = context;
    this.#parts = parts;
  }

  /** Undefined if it is not known. */
  nodeFs(): Promise<FsStats | undefined> {
    return this.#orNone('the root directory', fileSystemStats(this.#parts.rootDir));
  }

  logsFs(): Promise<FsStats | undefined> {
    return this.#orNone('the logs', fileSystemStats(this.#parts.podLogsDir));
  }

  /** Undefined if the runtime keeps no images, or does not answer. */
  async runtime(call: CallOptions): Promise<RuntimeStats | undefined> {
    const [image, container] = await Promise.all([
      this.#orNone('images', this.#imageFs(call)),
      this.#orNone('writable layers', this.#containerFs(call)),
    ]);
    const [imageFs, containerFs] = await Promise.all([
      image && this.#orNone('images', withUsage(image)),
      container && this.#orNone('writable layers', withUsage(container)),
    ]);
    if (imageFs === undefined) return undefined;
    return { imageFs, containerFs: containerFs ?? imageFs };
  }

  async layout(call: CallOptions = {}): Promise<DiskLayout> {
    const image = await this.#imageFs(call);
    if (image === undefined) {
      throw new StateletError('Internal', 'the runtime does not say where it keeps images');
    }
    const container = (await this.#containerFs(call)) ?? image;
    const [withNode, withContainers] = await Promise.all([
      isSameFileSystem(image.mountpoint, this.#parts.rootDir),
      isSameFileSystem(image.mountpoint, container.mountpoint),
    ]);
    return { dedicatedImageFs: !withNode, dedicatedContainerFs: !withContainers };
  }

  async #imageFs(call: CallOptions): Promise<FilesystemUsage | undefined> {
    return (await this.#parts.runtime.imageFsInfo(call))[0];
  }

  async #containerFs(call: CallOptions): Promise<FilesystemUsage | undefined> {
    return (await this.#parts.runtime.containerFsInfo?.(call))?.[0];
  }

  async #orNone<T>(what: string, work: Promise<T>): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      this.#context.logger.debug({}, `The file system of ${what} is not known: ${errorMessage(error)}`);
      return undefined;
    }
  }
}

/** The size is the kernel's figure, the usage the runtime's. */
async function withUsage({ mountpoint, usedBytes, inodesUsed }: FilesystemUsage): Promise<FsStats> {
  return { ...(await fileSystemStats(mountpoint)), usedBytes, inodesUsed };
}
