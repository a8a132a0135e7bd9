/** Recorded machines: the CPUs in their `/sys/devices/system`, one line for each NUMA node. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CpuOptions } from '../../src/agent/policies/cpus/cpu-choice.ts';
import { parseCpuSet } from '../../src/agent/policies/cpus/cpu-set.ts';
import { type CpuFacts, cpuTopology } from '../../src/agent/policies/cpus/cpu-topology.ts';

interface NodeLine {
  readonly node: number;
  readonly socket: number;
  /** The CPUs of each core: `0,4 1,5`. */
  readonly cores: string;
  /** The CPUs of each last cache; default: one for the node. */
  readonly caches?: string;
}

/** No option of the static policy is on. */
export const NO_CPU_OPTIONS: CpuOptions = {
  'full-pcpus-only': false,
  'distribute-cpus-across-numa': false,
  'align-by-socket': false,
  'distribute-cpus-across-cores': false,
  'strict-cpu-reservation': false,
  'prefer-align-cpus-by-uncorecache': false,
};

export const MACHINES: Readonly<Record<string, readonly NodeLine[]>> = {
  'one socket': [{ node: 0, socket: 0, cores: '0 1 2 3' }],
  'one socket with SMT': [{ node: 0, socket: 0, cores: '0,4 1,5 2,6 3,7' }],
  'two sockets with SMT': [
    { node: 0, socket: 0, cores: '0,6 2,8 4,10' },
    { node: 1, socket: 1, cores: '1,7 3,9 5,11' },
  ],
  'four NUMA nodes of two sockets': [
    { node: 0, socket: 0, cores: '0,8 1,9' },
    { node: 1, socket: 0, cores: '2,10 3,11' },
    { node: 2, socket: 1, cores: '4,12 5,13' },
    { node: 3, socket: 1, cores: '6,14 7,15' },
  ],
  'one node with two caches': [
    { node: 0, socket: 0, cores: '0,8 1,9 2,10 3,11 4,12 5,13 6,14 7,15', caches: '0-3,8-11 4-7,12-15' },
  ],
};

export function recorded(name: string): readonly CpuFacts[] {
  return (MACHINES[name] ?? []).flatMap(({ node, socket, cores, caches }) => {
    const all = cores.replaceAll(' ', ',');
    const cacheOf = (cpu: number) =>
      (caches ?? all).split(' ').find((cache) => parseCpuSet(cache)?.includes(cpu));
    return cores.split(' ').flatMap((core, coreId) =>
      core
        .split(',')
        .map(Number)
        .map((cpu) => ({ cpu, coreId, packageId: socket, node, cacheCpus: cacheOf(cpu) })),
    );
  });
}

export const machine = (name: string) => cpuTopology(recorded(name));

/** The same as files. */
export function writeMachine(systemDir: string, name: string): void {
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(systemDir, path)), { recursive: true });
    writeFileSync(join(systemDir, path), `${text}\n`);
  };
  const facts = recorded(name);
  write('cpu/online', facts.map(({ cpu }) => cpu).join());
  for (const { cpu, coreId, packageId, cacheCpus } of facts) {
    write(`cpu/cpu${cpu}/topology/core_id`, String(coreId));
    write(`cpu/cpu${cpu}/topology/physical_package_id`, String(packageId));
    write(`cpu/cpu${cpu}/cache/index3/shared_cpu_list`, cacheCpus ?? '');
  }
  const nodes = MACHINES[name] ?? [];
  for (const { node, cores } of nodes) {
    write(`node/node${node}/cpulist`, cores.replaceAll(' ', ','));
    write(`node/node${node}/distance`, nodes.map((other) => (other.node === node ? 10 : 20)).join(' '));
  }
}
