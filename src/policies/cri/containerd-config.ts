/** What containerd's CRI plugin says of its configuration in a verbose status: JSON, as in its file config.toml. */

/** Other runtimes have no setting of the cgroup driver. */
export const RUNC = 'io.containerd.runc.v2';
/** The configuration of a runtime with hundreds of handlers is shorter. */
const LENGTH_MAX = 1 << 20;

interface Config {
  readonly containerd?: {
    readonly defaultRuntimeName?: string;
    readonly runtimes?: Readonly<Record<string, Runtime>>;
  };
}

interface Runtime {
  readonly runtimeType?: string;
  readonly options?: { readonly SystemdCgroup?: unknown } | null;
}

/** The cgroup driver of the default handler; undefined where this text does not tell it, for example for another runtime than runc. */
export function cgroupDriverIn(config: string): 'cgroupfs' | 'systemd' | undefined {
  const { defaultRuntimeName = '', runtimes = {} } = parsed(config)?.containerd ?? {};
  const runtime = Object.hasOwn(runtimes, defaultRuntimeName) ? runtimes[defaultRuntimeName] : undefined;
  if (runtime?.runtimeType !== RUNC) return undefined;
  return runtime.options?.SystemdCgroup === true ? 'systemd' : 'cgroupfs';
}

function parsed(text: string): Config | undefined {
  if (text === '' || text.length > LENGTH_MAX) return undefined;
  try {
    return JSON.parse(text) as Config;
  } catch {
    return undefined;
  }
}
