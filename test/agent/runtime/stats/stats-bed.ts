/** Stats from plain files laid out as cgroups and `/proc`, and from a runtime whose answers a test sets. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { openStatsProvider } from '../../../../src/agent/runtime/stats/kernel-stats.ts';
import type {
  StatsProvider,
  StatsProviderParts,
  SummaryOptions,
} from '../../../../src/agent/runtime/stats/stats-provider.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import type { ContainerStats, FilesystemUsage } from '../../../../src/types/cri.ts';
import type { RuntimePodStatus } from '../../../../src/types/runtime-pod.ts';
import type { PodStats, Summary } from '../../../../src/types/stats.ts';
import { type PartialPodStatus, runtimePodStatus } from '../../../support/runtime-pod-status.ts';
import { warnings } from '../../../support/warnings.ts';
import { PlainCgroups } from '../cgroups/cgroup-bed.ts';
import { testContext } from '../../../support/test-context.ts';
import type { AgentContext } from '../../../../src/types/agent-context.ts';

export const MIB = 2 ** 20;
export const NOW = Date.UTC(2030, 0, 1);
export const TIME = '2030-01-01T00:00:00.000Z';

export class StatsBed {
  readonly cgroups = new PlainCgroups();
  readonly clock = new VirtualClock(NOW);
  readonly log = warnings();
  readonly asked: string[] = [];
  pods: RuntimePodStatus[] = [];
  containerStats: ContainerStats[] = [];
  imageFs: FilesystemUsage[] = [];
  containerFs: FilesystemUsage[] | undefined;
  runtimeFails = false;
  readonly #opened: StatsProvider[] = [];

  constructor() {
    this.write('proc/meminfo', '');
    for (const folder of ['root/pods', 'logs']) mkdirSync(this.cgroups.path(folder), { recursive: true });
  }

  /** The path is relative to the folder of the bed: `memory/kubepods/memory.stat`, `proc/meminfo`. */
  write(path: string, text: string): void {
    const file = this.cgroups.path(path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  /** Lines of `key value`. */
  figures(path: string, values: Readonly<Record<string, number>>): void {
    this.write(path, lines(values));
  }

  /** In bytes. */
  meminfo(values: Readonly<Record<string, number>>): void {
    const kibibytes = Object.entries(values).map(
      ([key, bytes]) => `${key}:${' '.repeat(8)}${bytes / 1024} kB\n`,
    );
    this.write('proc/meminfo', kibibytes.join(''));
  }

  open(parts: Partial<StatsProviderParts> = {}, context?: Partial<AgentContext>): StatsProvider {
    const { cgroups, clock } = this;
    const { logger } = this.log;
    const provider = openStatsProvider(
      { ...testContext({ clock, logger }), ...context },
      {
        nodeName: 'node',
        rootDir: cgroups.path('root'),
        podLogsDir: cgroups.path('logs'),
        cgroupRoot: '/',
        runtime: {
          listContainerStats: () => this.#answer('ListContainerStats', this.containerStats),
          imageFsInfo: () => this.#answer('ImageFsInfo', this.imageFs),
          ...(this.containerFs && { containerFsInfo: () => Promise.resolve(this.containerFs ?? []) }),
        },
        pods: () => this.pods,
        root: cgroups.dir,
        mountinfoFile: cgroups.mountinfoFile,
        ...parts,
      },
    );
    this.#opened.push(provider);
    return provider;
  }

  summary(options?: SummaryOptions): Promise<Summary> {
    return this.open().summary(options);
  }

  /** The stats of the only pod. */
  async podStats(options?: SummaryOptions): Promise<PodStats> {
    const { pods } = await this.summary(options);
    const [pod] = pods;
    if (pod === undefined || pods.length > 1) throw new Error(`there are ${pods.length} pods`);
    return pod;
  }

  runs(status: PartialPodStatus): void {
    this.pods.push(runtimePodStatus(status));
  }

  async cleanUp(): Promise<void> {
    await Promise.all(this.#opened.map((provider) => provider.close()));
    this.cgroups.remove();
  }

  #answer<T>(call: string, answer: T): Promise<T> {
    this.asked.push(call);
    return this.runtimeFails ? Promise.reject(new Error('connection refused')) : Promise.resolve(answer);
  }
}

export function container(id: string, name = id) {
  return { id, name, state: 'running' as const, startedAt: NOW / 1000 };
}

export const SANDBOX = { id: 'sandbox', createdAt: NOW };

function lines(values: Readonly<Record<string, number>>): string {
  return Object.entries(values)
    .map(([key, value]) => `${key} ${value}\n`)
    .join('');
}
