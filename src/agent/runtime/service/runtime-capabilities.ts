import type { RuntimeHandler, RuntimeHandlerFeatures, RuntimeStatus } from '../../../types/cri.ts';
import { StateletError } from '../../../types/errors.ts';
import type { RuntimeService } from './runtime-service.ts';

const NO_FEATURES: RuntimeHandlerFeatures = { recursiveReadOnlyMounts: false, userNamespaces: false };
/** An older containerd takes an image mount for the mount of a folder with an empty name. */
const CONTAINERD_WITH_IMAGE_VOLUMES = [2, 1] as const;

/** What this runtime can do that not every runtime can. */
export class RuntimeCapabilities {
  readonly #runtime: Pick<RuntimeService, 'version'>;
  #handlers: readonly RuntimeHandler[] = [];

  constructor(runtime: Pick<RuntimeService, 'version'>) {
    this.#runtime = runtime;
  }

  /** Takes the runtime's status, each time that it was asked. */
  learn({ handlers = [] }: RuntimeStatus): void {
    this.#handlers = handlers;
  }

  /** The features of the handler of that name; without a name, of the default. A feature that is not reported is absent. */
  of(handler = ''): RuntimeHandlerFeatures {
    return this.#handlers.find(({ name }) => name === handler)?.features ?? NO_FEATURES;
  }

  /** Why images cannot be mounted, if the runtime is known not to support it. CRI shows it only by the version. */
  async imageVolumesProblem(): Promise<StateletError | undefined> {
    const { runtimeName, runtimeVersion } = await this.#runtime.version();
    if (runtimeName !== 'containerd' || isAtLeast(runtimeVersion, CONTAINERD_WITH_IMAGE_VOLUMES))
      return undefined;
    const needed = CONTAINERD_WITH_IMAGE_VOLUMES.join('.');
    const message = `${runtimeName} ${runtimeVersion} cannot mount an image as a volume: that takes ${needed} or newer`;
    return new StateletError('Unimplemented', message);
  }
}

/** `1.6.20~ds1`, `v2.1.0-rc.1`. A text that is no version counts as new enough. */
function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [, ownMajor, ownMinor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  if (ownMajor === undefined) return true;
  return Number(ownMajor) > major || (Number(ownMajor) === major && Number(ownMinor) >= minor);
}
