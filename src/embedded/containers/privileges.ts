/** How a container gets other groups and fewer privileges than the monitor: groups, capabilities, no new privileges. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { invalid, StateletError } from '../../types/errors.ts';
import type { ContainerConfig, LinuxContainerSecurityContext } from '../../types/cri.ts';

/** The capabilities of the kernel, in the order of their numbers. */
const CAPABILITIES: ReadonlySet<string> = new Set(
  (
    'CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE ' +
    'NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN ' +
    'SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE ' +
    'MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE'
  ).split(' '),
);
const ALL = 'ALL';

export interface User {
  readonly uid: number;
  readonly gid: number;
}

/** Whether a container asks for something that only `setpriv` can set. */
export function asksForPrivileges({ linux }: ContainerConfig): boolean {
  const { capabilities, noNewPrivs, supplementalGroups = [] } = linux?.securityContext ?? {};
  const changes = [...(capabilities?.addCapabilities ?? []), ...(capabilities?.dropCapabilities ?? [])];
  return noNewPrivs === true || changes.length > 0 || supplementalGroups.length > 0;
}

/**
 * The command (`setpriv` with its options) that starts the container's programs; undefined if it is not needed, as it
 * costs a millisecond. `user`: the user to run as, if not the monitor's own. Throws a StateletError: InvalidArgument
 * for an unknown capability, FailedPrecondition if `setpriv` is not installed.
 */
export function privilegesOf(config: ContainerConfig, user: User | undefined): readonly string[] | undefined {
  if (!asksForPrivileges(config)) return undefined;
  const context = config.linux?.securityContext ?? {};
  const isRoot = process.getuid?.() === 0;
  const dropped = capabilityOptions(config.metadata.name, context, isRoot);
  const options = [...dropped, ...(isRoot ? groupOptions(context, user) : [])];
  // Without root there is no capability to drop, but a setuid program could give some: it must not.
  const hasNoNew =
    context.noNewPrivs === true || (!isRoot && namesOf(context, 'dropCapabilities').length > 0);
  if (hasNoNew) options.push('--no-new-privs');
  return options.length === 0 ? undefined : [setpriv(config.metadata.name), ...options, '--'];
}

function groupOptions({ supplementalGroups = [] }: LinuxContainerSecurityContext, user?: User): string[] {
  const ids = user ? [`--reuid=${user.uid}`, `--regid=${user.gid}`] : [];
  if (supplementalGroups.length > 0) return [...ids, `--groups=${supplementalGroups.join(',')}`];
  return user ? [...ids, '--clear-groups'] : [];
}

/** As container runtimes do: `drop: ALL` first, then `add`, then the other names of `drop`. */
function capabilityOptions(
  name: string,
  context: LinuxContainerSecurityContext,
  isRoot: boolean,
): readonly string[] {
  const [add, drop] = [namesOf(context, 'addCapabilities'), namesOf(context, 'dropCapabilities')];
  for (const capability of [...add, ...drop]) checkCapability(name, capability);
  if (!isRoot || drop.length === 0) return [];
  const dropsAll = drop.includes(ALL);
  const changes = [
    ...(dropsAll ? ['-all', ...add.filter((one) => one !== ALL).map((one) => `+${one.toLowerCase()}`)] : []),
    ...drop.filter((one) => one !== ALL).map((one) => `-${one.toLowerCase()}`),
  ];
  return [`--bounding-set=${changes.join(',')}`, '--inh-caps=-all'];
}

function namesOf(
  { capabilities }: LinuxContainerSecurityContext,
  list: 'addCapabilities' | 'dropCapabilities',
): readonly string[] {
  return (capabilities?.[list] ?? []).map((name) => name.toUpperCase().replace(/^CAP_/, ''));
}

function checkCapability(container: string, capability: string): void {
  if (capability === ALL || CAPABILITIES.has(capability)) return;
  throw invalid(
    `container "${container}" names an unknown capability, ${capability}; known are ALL and ` +
      [...CAPABILITIES].join(', '),
  );
}

function setpriv(container: string): string {
  const found = findProgram('setpriv', process.env.PATH ?? '', '/');
  if (found === undefined) {
    throw new StateletError(
      'FailedPrecondition',
      `container "${container}" has a securityContext for which the embedded runtime needs setpriv, and that is not in ` +
        'its PATH: install util-linux, or leave capabilities, allowPrivilegeEscalation, supplementalGroups and fsGroup out',
    );
  }
  return found;
}

/**
 * The file of a program as `exec` would find it, whether executable or not; undefined if there is none. `seen`: where this process finds
 * what the program has at a path.
 */
export function findProgram(
  command: string,
  path: string,
  cwd: string,
  seen: (path: string) => string = (same) => same,
): string | undefined {
  const isThere = (file: string) => isFile(seen(file));
  if (command.includes('/')) return isThere(resolve(cwd, command)) ? command : undefined;
  const files = path.split(delimiter).map((dir) => join(dir === '' ? cwd : resolve(cwd, dir), command));
  return files.find((file) => isThere(file) && isExecutable(seen(file))) ?? files.find(isThere);
}

export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** False for a file in a folder that the user may not read: `exec` passes over such folders. */
function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
  } catch {
    return false;
  }
}
