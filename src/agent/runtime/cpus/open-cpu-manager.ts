/** Opens the CPU manager, where there is one. */
import { join } from 'node:path';
import type { CpuOptions } from '../../policies/cpus/cpu-choice.ts';
import { cpuSetString, isSameSet, parseCpuSet, union } from '../../policies/cpus/cpu-set.ts';
import { reservedCpus } from '../../policies/cpus/static-cpus.ts';
import { isGoTrue } from '../../policies/formats/go-text.ts';
import { addQuantity, milliValue } from '../../policies/formats/quantity.ts';
import type { Reservations } from '../../policies/node/node-allocatable.ts';
import { amountIn } from '../../policies/pod/resources.ts';
import { storedText } from '../../../system/newest-file.ts';
import { StateletError } from '../../../types/errors.ts';
import type { PlacementMeasurements } from '../../../types/measurements.ts';
import type { ResourceManagerSettings } from '../../../types/node-settings.ts';
import { CpuManager } from './cpu-manager.ts';
import { CPU_STATE_FILE } from './cpu-state-file.ts';
import type { Machine } from './read-topology.ts';

export interface CpuManagerSetup {
  readonly rootDir: string;
  readonly settings: ResourceManagerSettings;
  readonly reservations: Reservations;
  /** Where the CPUs of this machine are. */
  readonly machine: () => Promise<Pick<Machine, 'cpus'>>;
}

/** Rejects where settings do not fit the machine, or a former agent's assignments do not fit the settings. */
export async function openCpuManager(
  setup: CpuManagerSetup,
  measurements?: PlacementMeasurements,
): Promise<CpuManager> {
  const { rootDir, settings, reservations, machine } = setup;
  const options = cpuOptions(settings.cpuManagerPolicyOptions);
  const { cpus: topology } = await machine();
  const { systemReserved, kubeReserved } = reservations;
  const milliCPU = milliValue(addQuantity(amountIn(systemReserved, 'cpu'), amountIn(kubeReserved, 'cpu')));
  const named = parseCpuSet(settings.reservedSystemCPUs) ?? [];
  if (milliCPU === 0n && named.length === 0)
    throw invalid('the static policy requires systemReserved.cpu + kubeReserved.cpu to be greater than zero');
  if (!isSameSet(union(named, topology.cpus), topology.cpus))
    throw invalid(
      `reservedSystemCPUs ${settings.reservedSystemCPUs} are not all among ${cpuSetString(topology.cpus)}`,
    );
  const reserved = named.length > 0 ? named : reservedCpus(topology, options, milliCPU);
  const file = storedText(join(rootDir, CPU_STATE_FILE));
  const manager = CpuManager.open(file, { topology, options, reserved }, measurements);
  await manager.complete();
  return manager;
}

function cpuOptions(given: Readonly<Record<string, string>>): CpuOptions {
  const isOn = (name: string) => isGoTrue(given[name] ?? '');
  return {
    'full-pcpus-only': isOn('full-pcpus-only'),
    'distribute-cpus-across-numa': isOn('distribute-cpus-across-numa'),
    'align-by-socket': isOn('align-by-socket'),
    'distribute-cpus-across-cores': isOn('distribute-cpus-across-cores'),
    'strict-cpu-reservation': isOn('strict-cpu-reservation'),
    'prefer-align-cpus-by-uncorecache': isOn('prefer-align-cpus-by-uncorecache'),
  };
}

function invalid(problem: string): StateletError {
  return new StateletError('InvalidArgument', `cpuManagerPolicy static: ${problem}`);
}
