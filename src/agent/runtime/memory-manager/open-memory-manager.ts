/** Opens the memory manager, where there is one. */
import { readFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { emptyMachine, type MemoryByNode } from '../../policies/memory-manager/numa-memory.ts';
import { reservedByNode, reservedMemoryProblem } from '../../policies/memory-manager/reserved-memory.ts';
import { quantityValue } from '../../policies/formats/quantity.ts';
import { type NodeReservations, reservedResources } from '../../policies/node/node-allocatable.ts';
import { machineCapacity } from '../../policies/node/node-capacity.ts';
import { StateletError } from '../../../types/errors.ts';
import type { OwnNodeFacts } from '../../../types/node-facts.ts';
import type { PlacementMeasurements } from '../../../types/measurements.ts';
import type { MemoryManagerSettings } from '../../../types/node-settings.ts';
import { readNodeIds, SYSTEM_DIR } from '../cpus/read-topology.ts';
import { readHugePages, readHugePagesIn } from '../node/machine-facts.ts';
import { meminfoBytes } from '../stats/small-files.ts';
import { storedText } from '../../../system/newest-file.ts';
import { MemoryManager } from './memory-manager.ts';
import { MEMORY_STATE_FILE } from './memory-state-file.ts';

export interface MemoryManagerSetup {
  readonly rootDir: string;
  readonly facts: Pick<OwnNodeFacts, 'capacity'>;
  readonly settings: MemoryManagerSettings;
  readonly reservations: NodeReservations;
  /** Default: that of this machine. */
  readonly systemDir?: string;
}

/** Rejects where settings do not fit the machine, or a former agent's assignments do not fit the settings. */
export async function openMemoryManager(
  setup: MemoryManagerSetup,
  measurements?: PlacementMeasurements,
): Promise<MemoryManager> {
  const { rootDir, facts, settings, reservations, systemDir = SYSTEM_DIR } = setup;
  const sizes = await readNodeMemory(systemDir);
  const { reservedMemory } = settings;
  const reserved = reservedResources(facts.capacity, reservations);
  const problem = reservedMemoryProblem(reservedMemory, [...sizes.keys()], reserved);
  if (problem !== undefined)
    throw new StateletError(
      'InvalidArgument',
      `reservedMemory (--reserved-memory): ${problem}. It is to be the sum of systemReserved, kubeReserved and evictionHard`,
    );
  const file = storedText(join(rootDir, MEMORY_STATE_FILE));
  const empty = emptyMachine(sizes, reservedByNode(reservedMemory));
  const manager = MemoryManager.open(file, empty, measurements);
  await manager.complete();
  return manager;
}

/** A machine without NUMA is one node, 0. */
export async function readNodeMemory(systemDir: string): Promise<MemoryByNode> {
  const ids = await readNodeIds(systemDir);
  if (ids.length === 0) return new Map([[0, kindsOf(totalmem(), await readHugePages())]]);
  const nodes = ids.map(async (id): Promise<[number, ReadonlyMap<string, number>]> => {
    const folder = join(systemDir, 'node', `node${id}`);
    const meminfo = await readFile(join(folder, 'meminfo'), 'utf8');
    const bytes = meminfoBytes(meminfo.replaceAll(/^Node \d+ /gmu, ''), 'MemTotal');
    return [id, kindsOf(bytes, await readHugePagesIn(join(folder, 'hugepages')))];
  });
  return new Map(await Promise.all(nodes));
}

function kindsOf(memoryBytes: number, hugePages: ReadonlyMap<number, number>): ReadonlyMap<string, number> {
  const kinds = [...machineCapacity({ cpus: 0, memoryBytes, hugePages })].filter(([name]) => name !== 'cpu');
  return new Map(kinds.map(([name, amount]) => [name, Number(quantityValue(amount))]));
}
