/** The cgroup driver of the container runtime, and what to say where the agent has another one. */
import type { RuntimeCondition } from '../../../types/cri.ts';
import type { CgroupDriverName } from '../cgroups/cgroup-names.ts';

/** Where containerd has `SystemdCgroup`. */
export const RUNC_OPTIONS = '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]';

/** The runtime is not ready for pods while it has another driver than the agent. */
export function wrongDriver(runtimes: CgroupDriverName, agents: CgroupDriverName): RuntimeCondition {
  return notReady(mismatch(runtimes, agents));
}

/** The runtime reports a driver that this machine does not support. */
export function impossibleDriver(problem: string): RuntimeCondition {
  return notReady(problem);
}

function notReady(message: string): RuntimeCondition {
  return { type: 'RuntimeReady', status: false, reason: 'CgroupDriverMismatch', message };
}

/** Errors about the first pod, from runtimes that do not report their cgroup driver, each with the driver that it comes from. */
const ANSWERS: readonly (readonly [RegExp, CgroupDriverName])[] = [
  [/expected cgroupsPath to be of format "slice:prefix:name" for systemd cgroups/, 'systemd'],
  [/did not receive slice as parent/, 'systemd'],
  [/received systemd slice as parent/, 'cgroupfs'],
];

/** A sentence for the runtime's error, if that comes from another cgroup driver than the agent's. */
export function driverProblemIn(message: string): string | undefined {
  const [, runtimes] = ANSWERS.find(([pattern]) => pattern.test(message)) ?? [];
  if (runtimes === undefined) return undefined;
  return mismatch(runtimes, otherThan(runtimes));
}

function mismatch(runtimes: CgroupDriverName, agents: CgroupDriverName): string {
  return (
    `the container runtime's cgroup driver is ${runtimes}, and cgroupDriver is ${agents}: ` +
    `set cgroupDriver: ${otherThan(agents)} (--cgroup-driver) for statelet, or have the runtime use ${agents} and restart it ` +
    `(containerd: ${systemdCgroup(agents)} below ${RUNC_OPTIONS} in /etc/containerd/config.toml; CRI-O: cgroup_manager = "${agents}")`
  );
}

/** The line of containerd's configuration for the driver. */
export function systemdCgroup(driver: CgroupDriverName): string {
  return `SystemdCgroup = ${driver === 'systemd'}`;
}

function otherThan(driver: CgroupDriverName): CgroupDriverName {
  return driver === 'systemd' ? 'cgroupfs' : 'systemd';
}

// What containerd's CRI plugin says of its configuration in a verbose status: JSON, as in its file config.toml.

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

/** The cgroup driver of the default handler; undefined where this text does not have it, for example for another runtime than runc. */
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
