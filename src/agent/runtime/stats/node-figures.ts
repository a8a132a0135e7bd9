/** The figures of the whole node, and of all its pods together. */
import { uptime } from 'node:os';
import { join } from 'node:path';
import type { MemoryStats, NodeStats, PSIStats, RlimitStats, SwapStats } from '../../../types/stats.ts';
import { readMaxPIDs } from '../node/machine-facts.ts';
import { CgroupStats } from './cgroup-stats.ts';
import { pressureIn, readSmallFile } from './small-files.ts';
import { isWholeMachine, machineMemoryUsage, machineSwap, memoryCapacity } from './memory-files.ts';
import { networkStats } from './network-figures.ts';
import { type NodeSources, SystemContainers, type SystemContainersMoment } from './system-containers.ts';

const TOP = '/';
/** A tick in /proc/stat is a hundredth of a second. */
const NS_PER_TICK = 10_000_000;

export class NodeFigures {
  readonly #sources: NodeSources;
  readonly #groups: CgroupStats | undefined;
  readonly #systemContainers: SystemContainers;
  readonly #isWholeMachine: boolean;
  /** Computed once: it would differ by milliseconds each time. */
  #startTime: string | undefined;

  constructor(sources: NodeSources) {
    this.#sources = sources;
    this.#groups = sources.tree && new CgroupStats(sources.tree);
    this.#systemContainers = new SystemContainers(sources);
    this.#isWholeMachine = sources.tree !== undefined && isWholeMachine(sources.tree);
  }

  /**
   * `onlyPods`: for eviction. Leaves out page faults, for which the kernel has to sum up all groups, and the system containers other than
   * the pods.
   */
  processorAndMemory({
    nowMs,
    onlyPods,
    ...others
  }: SystemContainersMoment): Pick<NodeStats, 'startTime' | 'cpu' | 'memory' | 'systemContainers'> {
    const time = new Date(nowMs).toISOString();
    const usageCoreNanoSeconds = this.#cpuNs(time);
    const psi = this.pressure('cpu');
    const cpu = usageCoreNanoSeconds === undefined ? undefined : { time, usageCoreNanoSeconds, psi };
    const withRate = this.#sources.rates.withRate(TOP, cpu, nowMs);
    const memory = this.#memory(time, !onlyPods);
    const systemContainers = this.#systemContainers.read({ nowMs, onlyPods, ...others });
    this.#startTime ??= new Date(nowMs - uptime() * 1000).toISOString();
    return {
      startTime: this.#startTime,
      cpu: withRate,
      memory,
      ...(systemContainers.length > 0 && { systemContainers }),
    };
  }

  /** Of the whole machine. Undefined if the kernel has no such figures. */
  pressure(resource: 'cpu' | 'memory' | 'io'): PSIStats | undefined {
    return pressureIn(readSmallFile(this.#proc(`pressure/${resource}`)));
  }

  /** Of the whole machine. */
  swap(nowMs: number): Required<SwapStats> | undefined {
    const usage = machineSwap(readSmallFile(this.#proc('meminfo')));
    return usage && { time: new Date(nowMs).toISOString(), ...usage };
  }

  io(nowMs: number): NodeStats['io'] {
    const psi = this.pressure('io');
    return psi && { time: new Date(nowMs).toISOString(), psi };
  }

  network(nowMs: number): NodeStats['network'] {
    return networkStats(this.#proc('net'), new Date(nowMs).toISOString());
  }

  async rlimit(nowMs: number): Promise<RlimitStats> {
    const maxpid = await readMaxPIDs(this.#sources.root).catch(() => undefined);
    // `0.20 0.18 0.12 1/80 11206`: one of 80 tasks runs.
    const tasks = /^(?:\S+ ){3}\d+\/(\d+)/.exec(readSmallFile(this.#proc('loadavg')) ?? '')?.[1];
    return {
      time: new Date(nowMs).toISOString(),
      maxpid,
      ...(tasks !== undefined && { curproc: Number(tasks) }),
    };
  }

  #memory(time: string, hasFaults: boolean): MemoryStats | undefined {
    const meminfo = readSmallFile(this.#proc('meminfo'));
    const ofTop = !hasFaults && this.#isWholeMachine ? undefined : this.#groups?.memory(TOP, time);
    const usage = ofTop ?? (meminfo === undefined ? undefined : { time, ...machineMemoryUsage(meminfo) });
    if (usage?.workingSetBytes === undefined) return undefined;
    const psi = this.pressure('memory');
    const availableBytes = Math.max(0, memoryCapacity(meminfo) - usage.workingSetBytes);
    return { ...usage, availableBytes, ...(psi && { psi }) };
  }

  #cpuNs(time: string): number | undefined {
    const ofTop = this.#groups?.cpu(TOP, time)?.usageCoreNanoSeconds;
    if (ofTop !== undefined) return ofTop;
    const fields = /^cpu +(\d.*)$/m
      .exec(readSmallFile(this.#proc('stat')) ?? '')?.[1]
      ?.split(' ')
      .map(Number);
    if (fields === undefined) return undefined;
    // user, nice, system, idle, iowait, irq, softirq, steal
    const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = fields;
    return (user + nice + system + irq + softirq) * NS_PER_TICK;
  }

  #proc(file: string): string {
    return join(this.#sources.root, 'proc', file);
  }
}
