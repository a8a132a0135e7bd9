import type { FilesystemUsage } from '../../../types/cri.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { Logger } from '../../../types/logger.ts';
import type { FsStats, RuntimeStats } from '../../../types/stats.ts';
import type { CallOptions, RuntimeService } from '../../service/runtime-service.ts';
import { fileSystemStats, isSameFileSystem } from './file-systems.ts';

export interface NodeDisksOptions {
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly runtime: Pick<RuntimeService, 'imageFsInfo' | 'containerFsInfo'>;
  readonly logger: Pick<Logger, 'debug'>;
}

/** By what eviction knows which disk is made emptier by what. */
export interface DiskLayout {
  /** Images are not where the root directory is. */
  readonly dedicatedImageFs: boolean;
  /** The writable layers of containers are not where images are. */
  readonly dedicatedContainerFs: boolean;
}

/** The file systems of the node: its own, that of logs, and those of the runtime. */
export class NodeDisks {
  readonly #options: NodeDisksOptions;

  constructor(options: NodeDisksOptions) {
    this.#options = options;
  }

  /** Undefined where it cannot be known. */
  nodeFs(): Promise<FsStats | undefined> {
    return this.#orNone('the root directory', fileSystemStats(this.#options.rootDir));
  }

  logsFs(): Promise<FsStats | undefined> {
    return this.#orNone('the logs', fileSystemStats(this.#options.podLogsDir));
  }

  /** Undefined where the runtime keeps no images, or does not answer. */
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
      isSameFileSystem(image.mountpoint, this.#options.rootDir),
      isSameFileSystem(image.mountpoint, container.mountpoint),
    ]);
    return { dedicatedImageFs: !withNode, dedicatedContainerFs: !withContainers };
  }

  async #imageFs(call: CallOptions): Promise<FilesystemUsage | undefined> {
    return (await this.#options.runtime.imageFsInfo(call))[0];
  }

  async #containerFs(call: CallOptions): Promise<FilesystemUsage | undefined> {
    return (await this.#options.runtime.containerFsInfo?.(call))?.[0];
  }

  async #orNone<T>(what: string, work: Promise<T>): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      this.#options.logger.debug({}, `The file system of ${what} is not known: ${errorMessage(error)}`);
      return undefined;
    }
  }
}

/** How large it is by the kernel, what is used of it by the runtime. */
async function withUsage({ mountpoint, usedBytes, inodesUsed }: FilesystemUsage): Promise<FsStats> {
  return { ...(await fileSystemStats(mountpoint)), usedBytes, inodesUsed };
}
