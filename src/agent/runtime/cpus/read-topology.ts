/** Reads where the CPUs of this machine are from `/sys/devices/system`. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseCpuSet } from '../../policies/cpus/cpu-set.ts';
import { type CpuFacts, type CpuTopology, cpuTopology } from '../../policies/cpus/cpu-topology.ts';
import type { NumaNodes } from '../../policies/topology/merge-hints.ts';
import { ifThere } from '../../../system/system-errors.ts';

export const SYSTEM_DIR = '/sys/devices/system';

export interface Machine {
  readonly cpus: CpuTopology;
  readonly numa: NumaNodes;
}

/** The last level of the caches that cores of a socket may share. */
const LAST_CACHE = 'cache/index3/shared_cpu_list';

/** `systemDir` is `/sys/devices/system`, or a recorded tree of a test. A machine without NUMA is one node, 0. */
export async function readMachine(systemDir: string): Promise<Machine> {
  const read = async (path: string) => (await ifThere(readFile(join(systemDir, path), 'utf8')))?.trim();
  const online = parseCpuSet((await read('cpu/online')) ?? '') ?? [];
  const ids = await readNodeIds(systemDir);
  const nodeOf = new Map<number, number>();
  const distances: number[][] = [];
  for (const id of ids) {
    for (const cpu of parseCpuSet((await read(`node/node${id}/cpulist`)) ?? '') ?? []) nodeOf.set(cpu, id);
    distances.push(((await read(`node/node${id}/distance`)) ?? '').split(/\s+/u).map(Number));
  }
  const facts: CpuFacts[] = [];
  for (const cpu of online) {
    const [coreId, packageId, cacheCpus] = await Promise.all([
      read(`cpu/cpu${cpu}/topology/core_id`),
      read(`cpu/cpu${cpu}/topology/physical_package_id`),
      read(`cpu/cpu${cpu}/${LAST_CACHE}`),
    ]);
    const node = nodeOf.get(cpu) ?? 0;
    // Virtual machines may have no topology: then each CPU is a core of one socket.
    facts.push({ cpu, coreId: number(coreId, cpu), packageId: number(packageId, 0), node, cacheCpus });
  }
  const numa = ids.length > 0 ? { ids, distances } : { ids: [0], distances: [[10]] };
  return { cpus: cpuTopology(facts), numa };
}

/** The NUMA nodes, in ascending order; none where the kernel does not know them. */
export async function readNodeIds(systemDir: string): Promise<readonly number[]> {
  const folders = (await ifThere(readdir(join(systemDir, 'node')))) ?? [];
  const ids = folders.flatMap((name) => /^node(\d{1,4})$/u.exec(name)?.[1] ?? []).map(Number);
  return ids.sort((a, b) => a - b);
}

function number(text: string | undefined, otherwise: number): number {
  const value = Number(text ?? '');
  return text === undefined || !Number.isInteger(value) || value < 0 ? otherwise : value;
}
