/** Rows of the node's settings about which cgroups are limited to what is reserved. */
import { StateletError } from '../../types/errors.ts';
import type { NodeSettings, ReservedSettings } from '../../types/node-settings.ts';
import { list, type Setting, text } from '../setting.ts';

export const RESERVED_SETTINGS: {
  readonly [Name in keyof ReservedSettings]: Setting<ReservedSettings[Name]>;
} = {
  enforceNodeAllocatable: {
    flag: '--enforce-node-allocatable <LIST>',
    field: 'enforceNodeAllocatable',
    default: ['pods'],
    kind: list,
    description:
      'which cgroups are limited: pods to what is allocatable, others to what is reserved for them; none',
  },
  kubeReservedCgroup: {
    flag: '--kube-reserved-cgroup <GROUP>',
    field: 'kubeReservedCgroup',
    default: '',
    kind: text,
    description: 'cgroup, or slice, of daemons of Kubernetes; it must exist',
  },
  systemReservedCgroup: {
    flag: '--system-reserved-cgroup <GROUP>',
    field: 'systemReservedCgroup',
    default: '',
    kind: text,
    description: 'cgroup, or slice, of other daemons; it must exist',
  },
};

const SYSTEM = ['system-reserved', 'system-reserved-compressible'] as const;
const KUBE = ['kube-reserved', 'kube-reserved-compressible'] as const;
const OPTIONS: readonly string[] = ['pods', ...SYSTEM, ...KUBE, 'none'];
const FIELD = 'enforceNodeAllocatable (--enforce-node-allocatable)';

/** Throws `InvalidArgument`, in the kubelet's words. `isGiven`: the list is not the default, which asks nothing of other settings. */
export function checkReservedSettings(settings: NodeSettings, isGiven: boolean, fileName: string): void {
  const problem = problemOf(settings, isGiven);
  if (problem === undefined) return;
  throw new StateletError('InvalidArgument', `${fileName}: invalid configuration: ${problem}`);
}

function problemOf(
  { enforceNodeAllocatable: all, kubeReservedCgroup, systemReservedCgroup, cgroupsPerQOS }: NodeSettings,
  isGiven: boolean,
): string | undefined {
  const has = (keys: readonly string[]) => keys.filter((key) => all.includes(key));
  const unknown = all.find((key) => !OPTIONS.includes(key));
  if (unknown !== undefined) {
    const options = OPTIONS.map((key) => `"${key}"`).join(', ');
    return `option "${unknown}" specified for ${FIELD}. Valid options are ${options}`;
  }
  const twice = all.find((key, index) => all.indexOf(key) !== index);
  if (twice !== undefined) return `duplicated enforcements "${twice}" in ${FIELD}`;
  for (const [first, second] of [SYSTEM, KUBE]) {
    if (has([first, second]).length === 2) {
      return `both "${first}" and "${second}" cannot be specified together in ${FIELD}`;
    }
  }
  if (has(SYSTEM).length > 0 && systemReservedCgroup === '') {
    return missing('systemReservedCgroup (--system-reserved-cgroup)', SYSTEM);
  }
  if (has(KUBE).length > 0 && kubeReservedCgroup === '') {
    return missing('kubeReservedCgroup (--kube-reserved-cgroup)', KUBE);
  }
  if (all.includes('none')) {
    const alone = `${FIELD} may not contain additional enforcements when "none" is specified`;
    return all.length > 1 ? alone : undefined;
  }
  if (cgroupsPerQOS || !isGiven || all.length === 0) return undefined;
  return `cgroupsPerQOS (--cgroups-per-qos) must be set to true when "${all[0] ?? ''}" contained in ${FIELD}`;
}

function missing(setting: string, [whole, compressible]: readonly [string, string]): string {
  return `${setting} must be specified when "${whole}" or "${compressible}" included in ${FIELD}`;
}
