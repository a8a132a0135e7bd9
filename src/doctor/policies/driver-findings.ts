/** The cgroup driver: the runtime and Statelet need the same one, and the systemd driver needs a systemd that answers. */
import type { CgroupDriverName } from '../../agent/policies/cgroups/cgroup-names.ts';
import {
  cgroupDriverIn,
  RUNC,
  RUNC_OPTIONS,
  systemdCgroup,
} from '../../agent/policies/cri/cgroup-driver-mismatch.ts';
import { type Finding, findingsOf, memberAt, parsedObject, type Reading, textAt } from './finding.ts';

export interface RuntimeDriver {
  readonly driver: CgroupDriverName;
  /** `RuntimeConfig`: the runtime decides, and the configuration has no effect. */
  readonly saidBy: 'RuntimeConfig' | 'Status' | 'file';
}

export interface DriverFacts {
  readonly configured: CgroupDriverName;
  /** Where the configuration says so, for a person: `cgroupDriver in FILE`. */
  readonly configuredIn: string;
  /** Undefined: the runtime does not say it. */
  readonly runtime: RuntimeDriver | undefined;
  readonly runtimeName: string;
  /** Where the runtime's own configuration is. */
  readonly runtimeFile: string;
  readonly systemd: SystemdFacts;
}

export interface SystemdFacts {
  /** Whether systemd is the machine's process 1. */
  readonly isRunning: boolean;
  /** Whether it takes calls of this user by D-Bus. */
  readonly bus: Reading<true>;
}

const { ok, warning, error, unknown } = findingsOf('cgroup-driver');

export function driverFindings(facts: DriverFacts): readonly Finding[] {
  const { configured, configuredIn, runtime } = facts;
  const effective = runtime?.saidBy === 'RuntimeConfig' ? runtime.driver : configured;
  const problems = effective === 'systemd' ? systemdProblems(facts.systemd) : [];
  if (problems.length > 0) return problems;
  if (runtime === undefined) {
    return [
      unknown(
        `${configured} (${configuredIn}); the runtime does not say its own`,
        `compare with ${SETTING_NAMES} in ${facts.runtimeFile}`,
      ),
    ];
  }
  if (runtime.driver === configured) return [ok(`${configured} on both sides`)];
  if (runtime.saidBy === 'RuntimeConfig') {
    const message = `${runtime.driver}, as the runtime says; ${configuredIn} says ${configured}, which has no effect`;
    return [warning(message, `set cgroupDriver: ${runtime.driver}`)];
  }
  const message = `the runtime uses ${runtime.driver}, and ${configuredIn} says ${configured}: no pod would start`;
  return [error(message, mendOf(facts))];
}

const SETTING_NAMES = 'SystemdCgroup (CRI-O: cgroup_manager)';

function mendOf({ configured, runtime, runtimeName, runtimeFile }: DriverFacts): string {
  const own = `or set cgroupDriver: ${runtime?.driver ?? 'cgroupfs'} for Statelet`;
  if (runtimeName === 'cri-o') {
    return `set cgroup_manager = "${configured}" in ${runtimeFile}, then systemctl restart crio; ${own}`;
  }
  return `set ${systemdCgroup(configured)} below ${RUNC_OPTIONS} in ${runtimeFile}, then systemctl restart containerd; ${own}`;
}

function systemdProblems({ isRunning, bus }: SystemdFacts): readonly Finding[] {
  if (!isRunning) {
    const message = 'the systemd driver needs systemd as process 1, and there is no /run/systemd/system';
    return [error(message, 'set cgroupDriver: cgroupfs, and SystemdCgroup = false for containerd')];
  }
  if ('value' in bus) return [];
  if (bus.isForbidden)
    return [unknown(`systemd takes no call of this user (${bus.problem})`, 'run statelet doctor as root')];
  return [
    error(
      `systemd takes no calls by D-Bus, which the systemd driver needs: ${bus.problem}`,
      'apt-get install dbus && systemctl start dbus.socket',
    ),
  ];
}

/** Settings of a runtime, from its answer to a verbose Status or from its configuration file. Undefined: they are not said there. */
export interface RuntimeSettings {
  readonly driver?: CgroupDriverName | undefined;
  readonly sandboxImage?: string | undefined;
  readonly confDir?: string | undefined;
  readonly binDirs?: readonly string[] | undefined;
  readonly selinux?: boolean | undefined;
}

/** From `info` of CRI's answer to a verbose Status: containerd has its CRI configuration there as JSON, CRI-O a part of its own. */
export function settingsOfStatus(info: Readonly<Record<string, string>>): RuntimeSettings {
  const text = textAt(info, 'config') ?? '';
  const config = parsedObject(text);
  if (typeof config === 'string') return {};
  const selinux = memberAt(config, 'enableSelinux') ?? memberAt(config, 'crio', 'SELinux');
  return {
    driver: cgroupDriverIn(text),
    sandboxImage: textAt(config, 'sandboxImage') ?? textAt(config, 'pinnedImages', 'sandbox'),
    confDir: textAt(config, 'cni', 'confDir'),
    binDirs: binDirsOf(memberAt(config, 'cni', 'binDirs') ?? memberAt(config, 'cni', 'binDir')),
    selinux: typeof selinux === 'boolean' ? selinux : undefined,
  };
}

const V2 = 'io.containerd.grpc.v1.cri';

const V3_RUNTIME = 'io.containerd.cri.v1.runtime';

const V3_IMAGES = 'io.containerd.cri.v1.images';

/** From the members of containerd's configuration file, of version 2 or 3. */
export function settingsOfFile(file: unknown): RuntimeSettings {
  const isNew = memberAt(file, 'plugins', V3_RUNTIME) !== undefined;
  const cri = memberAt(file, 'plugins', isNew ? V3_RUNTIME : V2);
  const handler = textAt(cri, 'containerd', 'default_runtime_name') ?? 'runc';
  const runtime = memberAt(cri, 'containerd', 'runtimes', handler);
  const isRunc = (textAt(runtime, 'runtime_type') ?? RUNC) === RUNC;
  const isSystemd = memberAt(runtime, 'options', 'SystemdCgroup') === true;
  const selinux = memberAt(cri, 'enable_selinux');
  return {
    driver: isRunc ? (isSystemd ? 'systemd' : 'cgroupfs') : undefined,
    sandboxImage:
      textAt(cri, 'sandbox_image') ?? textAt(file, 'plugins', V3_IMAGES, 'pinned_images', 'sandbox'),
    confDir: textAt(cri, 'cni', 'conf_dir'),
    binDirs: binDirsOf(memberAt(cri, 'cni', 'bin_dirs') ?? memberAt(cri, 'cni', 'bin_dir')),
    selinux: typeof selinux === 'boolean' ? selinux : undefined,
  };
}

function binDirsOf(value: unknown): readonly string[] | undefined {
  const dirs = [value].flat().filter((dir) => typeof dir === 'string' && dir !== '') as string[];
  return dirs.length === 0 ? undefined : dirs;
}
