/** How busy the machine's CPUs are, by NUMA node, and which node the CPUs of a pod are on. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type CpuSet, parseCpuSet } from '../../policies/cpus/cpu-set.ts';
import type {
  CpuTimesOfPods,
  MachineLoad,
  NodeCpuFigures,
  NumaNodeCpu,
  NumaNodesOfPods,
  PodCpuTime,
} from '../../../types/eviction-plugin.ts';
import type { CgroupTree } from '../cgroups/cgroup-tree.ts';
import type { NodeMemorySources } from './node-memory-reader.ts';
import { numberIn, pressureIn, readLongFile, readSmallFile, valueOf } from './small-files.ts';

/** Fields of a line of /proc/stat: user nice system idle iowait irq softirq steal. Guests count as user. */
const CPU_LINE = /^cpu(\d+) ((?:\d+ ){7}\d+)/gm;
const [SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ] = [2, 3, 4, 5, 6];
const US_PER_TICK = 10_000;
const NS_PER_US = 1000;

interface CpuTicks {
  readonly busy: number;
  readonly system: number;
  readonly total: number;
}

export class NodeCpuReader implements NodeCpuFigures {
  readonly #sources: NodeMemorySources;

  constructor(sources: NodeMemorySources) {
    this.#sources = sources;
  }

  load(): MachineLoad | undefined {
    const load1 = Number.parseFloat(this.#read('proc/loadavg') ?? '');
    const cpus = this.#ticks().size;
    if (Number.isNaN(load1) || cpus === 0) return undefined;
    const psi = pressureIn(this.#read('proc/pressure/cpu'));
    return { load1, cpus, psi };
  }

  numaNodes(): readonly NumaNodeCpu[] {
    const ticks = this.#ticks();
    return [...this.#cpusByNode()].flatMap(([id, cpus]): NumaNodeCpu[] => {
      const online = cpus.flatMap((cpu) => ticks.get(cpu) ?? []);
      if (online.length === 0) return [];
      const sum = (of: (one: CpuTicks) => number) => online.reduce((all, one) => all + of(one), 0);
      return [
        {
          id,
          cpus: online.length,
          busyTicks: sum(({ busy }) => busy),
          systemTicks: sum(({ system }) => system),
          totalTicks: sum(({ total }) => total),
        },
      ];
    });
  }

  podsOnOneNode(uids: readonly string[]): NumaNodesOfPods {
    const { tree, podGroups } = this.#sources;
    const nodes = [...this.#cpusByNode()];
    if (nodes.length < 2 || uids.length === 0 || tree?.has('cpuset') !== true || podGroups === undefined)
      return new Map();
    const nodeOf = new Map(nodes.flatMap(([id, cpus]) => cpus.map((cpu) => [cpu, id] as const)));
    const groups = podGroups.byPod();
    return new Map(
      uids.flatMap((uid): [string, number][] => {
        const group = groups.get(uid);
        const sets = group === undefined ? [] : cpusOfContainers(tree, group);
        // A sandbox, and a container that shares CPUs, may run on all.
        const own = sets.filter((set) => set.length > 0 && set.length < nodeOf.size);
        const [node, ...others] = new Set(own.flat().map((cpu) => nodeOf.get(cpu)));
        return node === undefined || others.length > 0 ? [] : [[uid, node]];
      }),
    );
  }

  timesOfPods(uids: readonly string[]): CpuTimesOfPods {
    const { tree, podGroups } = this.#sources;
    if (tree === undefined || podGroups === undefined) return new Map();
    const groups = podGroups.byPod();
    return new Map(
      uids.flatMap((uid): [string, PodCpuTime][] => {
        const group = groups.get(uid);
        const time = group === undefined ? undefined : cpuTime(tree, group);
        return time === undefined ? [] : [[uid, time]];
      }),
    );
  }

  #ticks(): ReadonlyMap<number, CpuTicks> {
    const text = readLongFile(join(this.#sources.root, 'proc/stat')) ?? '';
    return new Map(
      Array.from(text.matchAll(CPU_LINE), ([, cpu, fields = '']) => {
        const counts = fields.split(' ').map(Number);
        const total = counts.reduce((sum, count) => sum + count, 0);
        const of = (field: number) => counts[field] ?? 0;
        const busy = total - of(IDLE) - of(IOWAIT);
        return [Number(cpu), { busy, system: of(SYSTEM) + of(IRQ) + of(SOFTIRQ), total }];
      }),
    );
  }

  #cpusByNode(): ReadonlyMap<number, readonly number[]> {
    const folder = join(this.#sources.root, 'sys/devices/system/node');
    const nodes = namesIn(folder).flatMap((name): [number, readonly number[]][] => {
      const [, id] = /^node(\d+)$/.exec(name) ?? [];
      const cpus =
        id === undefined
          ? undefined
          : parseCpuSet((readSmallFile(join(folder, name, 'cpulist')) ?? '').trim());
      return cpus === undefined || cpus.length === 0 ? [] : [[Number(id), cpus]];
    });
    return new Map(nodes.sort(([a], [b]) => a - b));
  }

  #read(path: string): string | undefined {
    return readSmallFile(join(this.#sources.root, path));
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** On v1 the kernel's part is in ticks; together they are what the group has used. */
function cpuTime(tree: CgroupTree, group: string): PodCpuTime | undefined {
  if (tree.version === 1 && !tree.has('cpuacct')) return undefined;
  const folder = tree.version === 1 ? tree.folder('cpuacct', group) : (tree.folders(group)[0] ?? '');
  const read = (file: string) => readSmallFile(join(folder, file)) ?? '';
  const isV1 = tree.version === 1;
  const stat = read(isV1 ? 'cpuacct.stat' : 'cpu.stat');
  const usage = isV1 ? numberIn(read('cpuacct.usage')) : valueOf(stat, 'usage_usec');
  const system = valueOf(stat, isV1 ? 'system' : 'system_usec');
  if (usage === undefined || system === undefined) return undefined;
  return isV1 ? { usage: usage / NS_PER_US, system: system * US_PER_TICK } : { usage, system };
}

function cpusOfContainers(tree: CgroupTree, podGroup: string): readonly CpuSet[] {
  const file = tree.version === 1 ? 'cpuset.cpus' : 'cpuset.cpus.effective';
  const folder = tree.folder('cpuset', podGroup);
  return namesIn(folder).flatMap((name) => {
    const text = readSmallFile(join(folder, name, file));
    const cpus = text === undefined ? undefined : parseCpuSet(text.trim());
    return cpus === undefined ? [] : [cpus];
  });
}
