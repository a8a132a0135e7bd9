/** Rows of the node's settings about CPUs that containers have for themselves, and about where devices and CPUs are. */
import { parseCpuSet } from '../../policies/cpus/cpu-set.ts';
import { StateletError } from '../../../types/errors.ts';
import type { NodeSettings, ResourceManagerSettings } from '../../../types/node-settings.ts';
import { duration, flagOrNot, type Kind, type Setting, text, texts, timer } from '../setting.ts';

const oneOf =
  (...values: readonly string[]) =>
  (value: string) =>
    values.includes(value) ? undefined : `one of ${values.join(', ')}`;
const options = texts('=', 'OPTION=VALUE with commas between');

export const RESOURCE_MANAGER_SETTINGS: {
  readonly [Name in keyof ResourceManagerSettings]: Setting<ResourceManagerSettings[Name]>;
} = {
  cpuManagerPolicy: {
    flag: '--cpu-manager-policy <POLICY>',
    field: 'cpuManagerPolicy',
    default: 'none',
    kind: text as Kind<ResourceManagerSettings['cpuManagerPolicy']>,
    description:
      'whether containers of Guaranteed pods with whole CPUs have them for themselves: none or static',
    problem: oneOf('none', 'static'),
  },
  cpuManagerPolicyOptions: {
    flag: '--cpu-manager-policy-options <LIST>',
    field: 'cpuManagerPolicyOptions',
    default: {},
    kind: options,
    description: 'how CPUs are chosen, such as full-pcpus-only=true',
    problem: (value) => cpuOptionsProblem(value),
  },
  cpuManagerReconcilePeriodMs: {
    flag: '--cpu-manager-reconcile-period <DURATION>',
    field: 'cpuManagerReconcilePeriod',
    default: 10_000,
    kind: duration,
    description: 'how often the CPUs of containers are compared, besides after each change',
    problem: timer(1000),
  },
  reservedSystemCPUs: {
    flag: '--reserved-cpus <CPUS>',
    field: 'reservedSystemCPUs',
    default: '',
    kind: text,
    description: 'CPUs that no container has for itself, such as 0-1; counts in place of reserved CPU',
    problem: (value) => (parseCpuSet(value) ? undefined : 'CPUs such as 0-3,5'),
  },
  topologyManagerPolicy: {
    flag: '--topology-manager-policy <POLICY>',
    field: 'topologyManagerPolicy',
    default: 'none',
    kind: text as Kind<ResourceManagerSettings['topologyManagerPolicy']>,
    description: 'how near to each other a container has its devices and CPUs',
    problem: oneOf('none', 'best-effort', 'restricted', 'single-numa-node'),
  },
  topologyManagerScope: {
    flag: '--topology-manager-scope <SCOPE>',
    field: 'topologyManagerScope',
    default: 'container',
    kind: text as Kind<ResourceManagerSettings['topologyManagerScope']>,
    description: 'whether that counts for each container or for the pod',
    problem: oneOf('container', 'pod'),
  },
  topologyManagerPolicyOptions: {
    flag: '--topology-manager-policy-options <LIST>',
    field: 'topologyManagerPolicyOptions',
    default: {},
    kind: options,
    description: 'prefer-closest-numa-nodes=true, max-allowable-numa-nodes=N',
    problem: topologyOptionsProblem,
  },
};

const ALPHA = ['align-by-socket', 'distribute-cpus-across-cores'] as const;
const BETA = ['distribute-cpus-across-numa'] as const;
const STABLE = ['full-pcpus-only', 'strict-cpu-reservation', 'prefer-align-cpus-by-uncorecache'] as const;
const CPU_OPTIONS = [...ALPHA, ...BETA, ...STABLE] as const;
/** Options that contradict each other. */
const APART: readonly (readonly [string, string])[] = [
  ['full-pcpus-only', 'distribute-cpus-across-cores'],
  ['distribute-cpus-across-numa', 'distribute-cpus-across-cores'],
  ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-cores'],
  ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-numa'],
];

function cpuOptionsProblem(value: Readonly<Record<string, string>>): string | undefined {
  for (const [name, given] of Object.entries(value)) {
    if (!CPU_OPTIONS.some((option) => option === name)) return `options of: ${CPU_OPTIONS.join(', ')}`;
    if (flagOrNot.fromText(given) === undefined) return `true or false for ${name}`;
  }
  const isOn = (name: string) => flagOrNot.fromText(value[name] ?? 'false') === true;
  const pair = APART.find(([first, second]) => isOn(first) && isOn(second));
  return pair && `options that go together: ${pair.join(' and ')} do not`;
}

const NUMA_NODES_LEAST = 8;

function topologyOptionsProblem(value: Readonly<Record<string, string>>): string | undefined {
  for (const [name, given] of Object.entries(value)) {
    if (name === 'prefer-closest-numa-nodes') {
      if (flagOrNot.fromText(given) === undefined) return `true or false for ${name}`;
    } else if (name === 'max-allowable-numa-nodes') {
      if (!/^\d{1,4}$/u.test(given) || Number(given) < NUMA_NODES_LEAST)
        return `${NUMA_NODES_LEAST} or more for ${name}`;
    } else return 'options of: prefer-closest-numa-nodes, max-allowable-numa-nodes';
  }
  return undefined;
}

type OptionGate = 'CPUManagerPolicyAlphaOptions' | 'CPUManagerPolicyBetaOptions';

/** Throws `InvalidArgument` where one setting needs another, or contradicts it. */
export function checkResourceManagers(
  settings: NodeSettings,
  isEnabled: (gate: OptionGate) => boolean,
  fileName: string,
): void {
  const problem = problemOf(settings, isEnabled);
  if (problem !== undefined) throw new StateletError('InvalidArgument', `${fileName}: ${problem}`);
}

function problemOf(settings: NodeSettings, isEnabled: (gate: OptionGate) => boolean): string | undefined {
  const { cpuManagerPolicy, cpuManagerPolicyOptions: given, topologyManagerPolicy } = settings;
  const alpha = ALPHA.find((name) => given[name] !== undefined);
  if (alpha && !isEnabled('CPUManagerPolicyAlphaOptions'))
    return `cpuManagerPolicyOptions: ${alpha} needs the feature gate CPUManagerPolicyAlphaOptions`;
  const beta = BETA.find((name) => given[name] !== undefined);
  if (beta && !isEnabled('CPUManagerPolicyBetaOptions'))
    return `cpuManagerPolicyOptions: ${beta} needs the feature gate CPUManagerPolicyBetaOptions`;
  if (cpuManagerPolicy === 'none' && Object.keys(given).length > 0)
    return 'cpuManagerPolicyOptions: need cpuManagerPolicy static';
  if (given['align-by-socket'] !== undefined && topologyManagerPolicy === 'single-numa-node')
    return 'cpuManagerPolicyOptions: align-by-socket contradicts topologyManagerPolicy single-numa-node';
  const { reservedSystemCPUs, kubeReservedCgroup, systemReservedCgroup } = settings;
  if (reservedSystemCPUs !== '' && (kubeReservedCgroup !== '' || systemReservedCgroup !== ''))
    return "reservedSystemCPUs (--reserved-cpus): can't be used with systemReservedCgroup or kubeReservedCgroup";
  return undefined;
}
