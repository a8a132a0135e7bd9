import type { RuntimeHandler, RuntimeHandlerFeatures, RuntimeStatus } from '../../types/cri.ts';
import { StateletError } from '../../types/errors.ts';
import type { RuntimeService } from './runtime-service.ts';

const NO_FEATURES: RuntimeHandlerFeatures = { recursiveReadOnlyMounts: false, userNamespaces: false };
/** An older containerd takes the mount of an image for that of a folder without a name. */
const CONTAINERD_WITH_IMAGE_VOLUMES = [2, 1] as const;

/** What the runtime can do beyond what every runtime can. */
export class RuntimeCapabilities {
  readonly #runtime: Pick<RuntimeService, 'version'>;
  #handlers: readonly RuntimeHandler[] = [];

  constructor(runtime: Pick<RuntimeService, 'version'>) {
    this.#runtime = runtime;
  }

  /** What the runtime says of itself, each time that it is asked. */
  learn({ handlers = [] }: RuntimeStatus): void {
    this.#handlers = handlers;
  }

  /** Of the handler of that name; without one, of the default. What the runtime does not say of it, it cannot do. */
  of(handler = ''): RuntimeHandlerFeatures {
    return this.#handlers.find(({ name }) => name === handler)?.features ?? NO_FEATURES;
  }

  /** Why images cannot be mounted, where the runtime is known not to. CRI has no other word on that than its version. */
  async imageVolumesProblem(): Promise<StateletError | undefined> {
    const { runtimeName, runtimeVersion } = await this.#runtime.version();
    if (runtimeName !== 'containerd' || isAtLeast(runtimeVersion, CONTAINERD_WITH_IMAGE_VOLUMES))
      return undefined;
    const needed = CONTAINERD_WITH_IMAGE_VOLUMES.join('.');
    const message = `${runtimeName} ${runtimeVersion} cannot mount an image as a volume: that takes ${needed} or newer`;
    return new StateletError('Unimplemented', message);
  }
}

/** `1.6.20~ds1`, `v2.1.0-rc.1`; what is no version passes. */
function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [, ownMajor, ownMinor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  if (ownMajor === undefined) return true;
  return Number(ownMajor) > major || (Number(ownMajor) === major && Number(ownMinor) >= minor);
}
