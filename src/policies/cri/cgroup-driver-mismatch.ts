/** What to say where the runtime and the agent make cgroups in different ways. */
import type { RuntimeCondition } from '../../types/cri.ts';

type Driver = 'cgroupfs' | 'systemd';

const SETTINGS: Readonly<Record<Driver, string>> = {
  systemd: 'SystemdCgroup = true',
  cgroupfs: 'SystemdCgroup = false',
};
const LINE = `[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]`;

/** The runtime is not ready for pods while it has another driver than the agent. */
export function wrongDriver(runtimes: Driver, agents: Driver): RuntimeCondition {
  return notReady(
    `the container runtime's cgroup driver is ${runtimes}, and cgroupDriver is ${agents}: ${mend(agents)}`,
  );
}

/** The runtime tells its driver, and this machine cannot do that. */
export function impossibleDriver(problem: string): RuntimeCondition {
  return notReady(problem);
}

function notReady(message: string): RuntimeCondition {
  return { type: 'RuntimeReady', status: false, reason: 'CgroupDriverMismatch', message };
}

/** What runtimes that do not tell their driver say of the first pod, and what their driver is then. */
const ANSWERS: readonly (readonly [RegExp, Driver])[] = [
  [/expected cgroupsPath to be of format "slice:prefix:name" for systemd cgroups/, 'systemd'],
  [/did not receive slice as parent/, 'systemd'],
  [/received systemd slice as parent/, 'cgroupfs'],
];

/** A sentence for the runtime's error, if that comes from another cgroup driver than the agent's. */
export function driverProblemIn(message: string): string | undefined {
  const [, runtimes] = ANSWERS.find(([pattern]) => pattern.test(message)) ?? [];
  if (runtimes === undefined) return undefined;
  const agents = runtimes === 'systemd' ? 'cgroupfs' : 'systemd';
  return `the container runtime's cgroup driver is ${runtimes}, and cgroupDriver is ${agents}: ${mend(agents)}`;
}

function mend(agents: Driver): string {
  const other = agents === 'systemd' ? 'cgroupfs' : 'systemd';
  return (
    `set cgroupDriver: ${other} (--cgroup-driver) for statelet, or have the runtime use ${agents} and restart it ` +
    `(containerd: ${SETTINGS[agents]} below ${LINE} in /etc/containerd/config.toml; CRI-O: cgroup_manager = "${agents}")`
  );
}
