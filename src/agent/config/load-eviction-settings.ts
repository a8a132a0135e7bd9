/** Settings of eviction, for every runtime. */
import {
  DEFAULT_EVICTION_HARD,
  gracePeriods,
  thresholdValues,
  minimumReclaims,
  parseThresholds,
  type Threshold,
} from '../policies/eviction/thresholds.ts';
import {
  pressureGracePeriods,
  pressureLimits,
  pressureThresholds,
} from '../policies/eviction/pressure-settings.ts';
import { StateletError, errorMessage } from '../../types/errors.ts';
import type { EvictionConfiguration } from '../../types/node-settings.ts';
import {
  type GivenSettings,
  atLeast,
  duration,
  flagOrNot,
  number,
  resolveSettings,
  type Setting,
  texts,
  timer,
} from './setting.ts';

type Texts = Readonly<Record<string, string>>;

/** The problem that the parser of these thresholds reports. */
const readBy = (read: (value: Texts) => unknown, what: string) => (value: Texts) => {
  const problem = problemOf(() => read(value));
  return problem && `${what} by signal; ${problem}`;
};
const thresholds = readBy(thresholdValues, 'quantities or percentages');
const bySignal = (separator: string, example: string) =>
  texts(separator, `SIGNAL${separator}VALUE with commas between, such as ${example}`);

const EVICTION_SETTINGS: {
  readonly [Name in keyof EvictionConfiguration]: Setting<EvictionConfiguration[Name]>;
} = {
  evictionHard: {
    flag: '--eviction-hard <LIST>',
    field: 'evictionHard',
    default: DEFAULT_EVICTION_HARD,
    kind: bySignal('<', 'memory.available<100Mi,nodefs.available<10%'),
    description: 'thresholds below which pods are evicted at once',
    problem: thresholds,
  },
  mergeDefaultEvictionSettings: {
    field: 'mergeDefaultEvictionSettings',
    default: false,
    kind: flagOrNot,
    description: 'whether signals that `evictionHard` leaves out keep their defaults',
  },
  evictionSoft: {
    flag: '--eviction-soft <LIST>',
    field: 'evictionSoft',
    default: {},
    problem: thresholds,
    kind: bySignal('<', 'memory.available<500Mi'),
    description: 'thresholds below which pods are evicted after a grace period',
  },
  evictionSoftGracePeriod: {
    flag: '--eviction-soft-grace-period <LIST>',
    field: 'evictionSoftGracePeriod',
    default: {},
    kind: bySignal('=', 'memory.available=1m30s'),
    description: 'grace periods of the soft thresholds',
    problem: readBy(gracePeriods, 'durations'),
  },
  evictionMinimumReclaim: {
    flag: '--eviction-minimum-reclaim <LIST>',
    field: 'evictionMinimumReclaim',
    default: {},
    kind: bySignal('=', 'nodefs.available=500Mi'),
    description: 'how much above a threshold a signal has to be before eviction ends',
    problem: readBy(minimumReclaims, 'quantities or percentages'),
  },
  evictionPSI: {
    flag: '--eviction-psi <LIST>',
    default: {},
    kind: bySignal('>', 'memory.pressure.full.avg10>20%'),
    description: 'share of the time that tasks may wait for memory or disks before pods are evicted',
    problem: readBy(pressureLimits, 'percentages'),
  },
  evictionPSIGracePeriod: {
    flag: '--eviction-psi-grace-period <LIST>',
    default: {},
    kind: bySignal('=', 'memory.pressure.full.avg10=30s'),
    description:
      'how long a limit of --eviction-psi has to be exceeded; without it, pods are evicted at once',
    problem: readBy(pressureGracePeriods, 'durations'),
  },
  evictionMaxPodGracePeriod: {
    flag: '--eviction-max-pod-grace-period <SECONDS>',
    field: 'evictionMaxPodGracePeriod',
    default: 0,
    kind: number,
    problem: atLeast(0),
    description: 'longest grace period of a pod that is evicted for a soft threshold, in seconds',
  },
  evictionPressureTransitionPeriodMs: {
    flag: '--eviction-pressure-transition-period <DURATION>',
    field: 'evictionPressureTransitionPeriod',
    default: 300_000,
    kind: duration,
    problem: timer(0),
    description: 'how long the node reports pressure after it was last observed',
  },
  localStorageCapacityIsolation: {
    flag: '--local-storage-capacity-isolation [BOOL]',
    field: 'localStorageCapacityIsolation',
    default: true,
    kind: flagOrNot,
    description: 'whether pods that exceed their own limits of local storage are evicted',
  },
};

/** All rows of the table. */
export const ALL_EVICTION_SETTINGS = Object.values(EVICTION_SETTINGS) as unknown as readonly Setting[];

/** All thresholds that are set. `enforceNodeAllocatable` as in KubeletConfiguration: with `pods`, pods are limited to allocatable. */
export function evictionThresholds(
  settings: EvictionConfiguration,
  enforceNodeAllocatable: readonly string[],
): readonly Threshold[] {
  return [...parseThresholds({ ...settings, enforceNodeAllocatable }), ...pressureThresholds(settings)];
}

/** Throws `InvalidArgument`; the message names the flag or the field whose value is not valid. */
export function resolveEvictionSettings(given: GivenSettings): EvictionConfiguration {
  const settings = resolveSettings<EvictionConfiguration>(EVICTION_SETTINGS, given);
  const evictionHard = settings.mergeDefaultEvictionSettings
    ? { ...DEFAULT_EVICTION_HARD, ...settings.evictionHard }
    : settings.evictionHard;
  const resolved = { ...settings, evictionHard };
  requireGracePeriods(resolved, given.fileName);
  return resolved;
}

/** Each value is valid by itself; here they are checked together. */
function requireGracePeriods(settings: EvictionConfiguration, fileName: string): void {
  const problems: readonly (readonly [where: string, problem: string | undefined])[] = [
    [
      `--eviction-soft and --eviction-soft-grace-period, or evictionSoft and evictionSoftGracePeriod in ${fileName}`,
      problemOf(() => parseThresholds({ ...settings, enforceNodeAllocatable: [] })),
    ],
    ['--eviction-psi and --eviction-psi-grace-period', problemOf(() => pressureThresholds(settings))],
  ];
  for (const [where, problem] of problems)
    if (problem !== undefined) throw new StateletError('InvalidArgument', `${where}: ${problem}`);
}

function problemOf(read: () => unknown): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}
