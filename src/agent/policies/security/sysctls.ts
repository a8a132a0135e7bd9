/** Sysctls of a pod: which of them are allowed, and how they are spelled. */
import type { Pod, PodSpec } from '../../../types/kubernetes.ts';

type SysctlNamespace = 'ipc' | 'net';

/** Sysctls that are namespaced and cannot affect other pods. */
const SAFE_SYSCTLS: readonly string[] = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
  'net.ipv4.tcp_rmem',
  'net.ipv4.tcp_wmem',
];

/** Undefined for a sysctl of the whole machine: a pod cannot have its own value of it. */
export function sysctlNamespace(name: string): SysctlNamespace | undefined {
  if (name.startsWith('net.')) return 'net';
  if (name === 'kernel.sem' || /^(?:kernel\.(?:shm|msg)|fs\.mqueue\.)/.test(name)) return 'ipc';
  return undefined;
}

/**
 * The name with dots between its parts. As in sysctl.d, the first separator decides: if it is a slash, slashes separate, and
 * a dot belongs to a name. The result has a slash for such a dot (`net.ipv4.conf.eth0/100.rp_filter`).
 */
export function dottedSysctl(name: string): string {
  if (/[./]/.exec(name)?.[0] !== '/') return name;
  return name.replaceAll(/[./]/g, (separator) => (separator === '/' ? '.' : '/'));
}

/** Undefined for a pod without sysctls. */
export function podSysctls({ securityContext }: PodSpec): Readonly<Record<string, string>> | undefined {
  const sysctls = securityContext?.sysctls;
  if (!sysctls?.length) return undefined;
  return Object.fromEntries(sysctls.map(({ name, value }) => [dottedSysctl(name), value]));
}

/**
 * Why a pod may not have its sysctls on this node; undefined if it may. `allowedUnsafe`: names, or patterns that end in `*`,
 * which the settings allow besides the safe sysctls.
 */
export function sysctlRejection(
  { spec }: Pod,
  allowedUnsafe: readonly string[],
): { reason: 'SysctlForbidden'; message: string } | undefined {
  for (const { name } of spec.securityContext?.sysctls ?? []) {
    const problem = sysctlProblem(dottedSysctl(name), spec, allowedUnsafe);
    if (problem) return { reason: 'SysctlForbidden', message: `forbidden sysctl: ${problem}` };
  }
  return undefined;
}

function sysctlProblem(name: string, spec: PodSpec, allowedUnsafe: readonly string[]): string | undefined {
  const namespace = sysctlNamespace(name);
  const allowed = SAFE_SYSCTLS.includes(name) || allowedUnsafe.some((pattern) => matches(name, pattern));
  if (!allowed || namespace === undefined) return `"${name}" not allowlisted`;
  const ofHost = namespace === 'net' ? spec.hostNetwork : spec.hostIPC;
  return ofHost ? `"${name}" not allowed with host ${namespace} enabled` : undefined;
}

function matches(name: string, pattern: string): boolean {
  const dotted = dottedSysctl(pattern);
  return dotted.endsWith('*') ? name.startsWith(dotted.slice(0, -1)) : name === dotted;
}

/** What is wrong with an entry of `allowedUnsafeSysctls`; undefined if it is valid. */
export function sysctlPatternProblem(pattern: string): string | undefined {
  if (!/^[a-z0-9][-_./a-z0-9]*\*?$/.test(pattern))
    return `"${pattern}" is neither a sysctl's name nor the beginning of one with a * behind it`;
  if (sysctlNamespace(dottedSysctl(pattern).replace(/\*$/, ''))) return undefined;
  return `"${pattern}" is not known to be namespaced: there are kernel.shm*, kernel.msg*, kernel.sem, fs.mqueue.* and net.*`;
}
