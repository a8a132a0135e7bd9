/** Settings that decide which pods are admitted, for every runtime. */
import type { AdmissionSettings } from '../../types/node-settings.ts';
import type { Taint } from '../../types/kubernetes.ts';
import { parseCpuSet } from '../policies/cpus/cpu-set.ts';
import { reservationProblem } from '../policies/node/node-allocatable.ts';
import { extendedResourceProblem, nodeLabelsProblem, taintsProblem } from '../policies/node/node-capacity.ts';
import {
  type GivenSettings,
  atLeast,
  flagOrNot,
  type Kind,
  number,
  resolveSettings,
  type Setting,
  texts,
} from './setting.ts';

type Texts = Readonly<Record<string, string>>;

const TAINT = /^([^=:]*)(?:=([^=:]*))?:([^:]*)$/u;

const taints: Kind<readonly Taint[]> = {
  fromText: (given) => {
    const matches = given
      .split(',')
      .filter((item) => item !== '')
      .map((item) => TAINT.exec(item));
    if (matches.includes(null)) return undefined;
    return matches.map((match) => {
      const [, key = '', value, effect = ''] = match ?? [];
      return { key, value, effect };
    });
  },
  fromField: (value) =>
    (value as readonly Partial<Taint>[]).map((taint) => ({ key: '', effect: '', ...taint })),
  expects: 'KEY=VALUE:EFFECT or KEY:EFFECT, with commas between',
  show: (value) => value.map(shownTaint).join(','),
};

function shownTaint({ key, value, effect }: Taint): string {
  return `${key}${value === undefined ? '' : `=${value}`}:${effect}`;
}

const amounts = texts('=', 'RESOURCE=QUANTITY with commas between, such as cpu=200m,memory=500Mi');
const reserved = (value: Texts) => {
  const problem = reservationProblem(value);
  return problem && `quantities of cpu, memory, ephemeral-storage or pid; ${problem}`;
};
const ADMISSION_SETTINGS: { readonly [Name in keyof AdmissionSettings]: Setting<AdmissionSettings[Name]> } = {
  podsPerCore: {
    flag: '--pods-per-core <N>',
    field: 'podsPerCore',
    default: 0,
    kind: number,
    problem: atLeast(0),
    description: 'how many pods may run here for each CPU, up to --max-pods; 0: only --max-pods counts',
  },
  systemReserved: {
    flag: '--system-reserved <LIST>',
    field: 'systemReserved',
    default: {},
    kind: amounts,
    description: 'what is reserved for the operating system, such as cpu=200m,memory=500Mi',
    problem: reserved,
  },
  kubeReserved: {
    flag: '--kube-reserved <LIST>',
    field: 'kubeReserved',
    default: {},
    kind: amounts,
    description: 'what is reserved for Statelet and the container runtime',
    problem: reserved,
  },
  extendedResources: {
    flag: '--extended-resources <LIST>',
    default: {},
    kind: amounts,
    problem: extendedResourceProblem,
    description: 'other resources of the node, in whole amounts, such as example.com/gpu=2',
  },
  nodeLabels: {
    flag: '--node-labels <LIST>',
    default: {},
    problem: nodeLabelsProblem,
    kind: texts('=', 'NAME=VALUE with commas between'),
    description: 'labels of this node, in addition to those of its name, operating system and architecture',
  },
  registerWithTaints: {
    flag: '--register-with-taints <LIST>',
    field: 'registerWithTaints',
    default: [],
    kind: taints,
    description: 'taints of this node, as KEY=VALUE:EFFECT, separated by commas',
    problem: taintsProblem,
  },
  preemptionLowerPriorityFirst: {
    flag: '--preemption-lower-priority-first [BOOL]',
    default: true,
    kind: flagOrNot,
    description: 'whether, of victims that are otherwise equal, the one of lower priority is preempted',
  },
};

/** All rows of the table. */
export const ALL_ADMISSION_SETTINGS = Object.values(ADMISSION_SETTINGS) as unknown as readonly Setting[];

/** Throws `InvalidArgument`; the message names the flag or the field whose value is not valid. */
export function resolveAdmissionSettings(given: GivenSettings): AdmissionSettings {
  return resolveSettings<AdmissionSettings>(ADMISSION_SETTINGS, given);
}

/** CPUs that are reserved by their numbers count in place of reserved amounts, as with the kubelet. */
export function withReservedCPUs(settings: AdmissionSettings, cpus: string): AdmissionSettings {
  const reserved = parseCpuSet(cpus)?.length ?? 0;
  if (reserved === 0) return settings;
  const others = Object.entries(settings.systemReserved).filter(([resource]) => resource !== 'cpu');
  const systemReserved = Object.fromEntries(others);
  const kubeReserved = { ...settings.kubeReserved, cpu: String(reserved) };
  return { ...settings, systemReserved, kubeReserved };
}
