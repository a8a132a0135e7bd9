/** A node with cgroups of pods for the bench of scrapes: a pod, its sandbox with a process, and a container each. Needs root. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeCgroups } from '../../src/agent/runtime/cgroups/cgroup-removal.ts';
import { CgroupTree } from '../../src/agent/runtime/cgroups/cgroup-tree.ts';
import { openStatsProvider } from '../../src/agent/runtime/stats/kernel-stats.ts';
import type { StatsProvider } from '../../src/agent/runtime/stats/stats-provider.ts';
import { systemClock } from '../../src/system/timer.ts';
import type { RuntimePodStatus } from '../../src/types/runtime-pod.ts';
import { silentLogger } from '../../test/support/silent-logger.ts';
import { testContext } from '../../test/support/test-context.ts';

const MOUNTINFO = '/proc/self/mountinfo';

export class ScrapedNode {
  readonly pods: readonly RuntimePodStatus[];
  readonly stats: StatsProvider;
  readonly #tree = new CgroupTree(MOUNTINFO, [], silentLogger);
  readonly #root = `/statelet-scrape-${process.pid}`;
  readonly #folder = mkdtempSync(join(tmpdir(), 'statelet-scrape-'));
  readonly #processes: ChildProcess[] = [];

  constructor(count: number) {
    this.pods = Array.from({ length: count }, (_, index) => this.#makePod(index));
    for (const name of ['pods', 'logs']) mkdirSync(join(this.#folder, name));
    this.stats = openStatsProvider(testContext({ clock: systemClock }), {
      nodeName: 'node',
      rootDir: this.#folder,
      podLogsDir: join(this.#folder, 'logs'),
      cgroupRoot: this.#root,
      runtime: { listContainerStats: () => Promise.resolve([]), imageFsInfo: () => Promise.resolve([]) },
      pods: () => this.pods,
    });
  }

  async close(): Promise<void> {
    await this.stats.close();
    for (const child of this.#processes) child.kill('SIGKILL');
    await removeCgroups(this.#tree.folders(this.#root));
    rmSync(this.#folder, { recursive: true });
  }

  #makePod(index: number): RuntimePodStatus {
    const uid = `${String(index).padStart(8, '0')}-aaaa-bbbb-cccc-000000000000`;
    const [sandbox, container] = ['a', 'b'].map((letter) => `${letter}${index}`.padEnd(64, '0'));
    const group = `${this.#root}/kubepods/burstable/pod${uid}`;
    for (const id of [sandbox, container]) this.#tree.make(`${group}/${id}`, { recursive: true });
    this.#startIn(`${group}/${sandbox}`);
    const at = Date.now();
    return {
      uid,
      name: `a-pod-with-a-usual-name-${index}`,
      namespace: 'a-namespace',
      observedAt: at,
      sandboxes: [{ id: sandbox ?? '', ready: true, attempt: 0, createdAt: at, networkMode: 'POD' }],
      containers: [
        {
          id: container ?? '',
          name: 'main',
          state: 'running',
          createdAt: at,
          startedAt: at,
          finishedAt: 0,
          exitCode: 0,
          reason: '',
          message: '',
          restartCount: 0,
          image: 'registry.example/team/service:v1.2.3',
          imageRef: '',
          podSandboxId: sandbox ?? '',
        },
      ],
    };
  }

  /** A process with a network of one interface, which is read through it. */
  #startIn(group: string): void {
    const script = 'ip link add eth0 type dummy; exec sleep 100000';
    const child = spawn('unshare', ['--net', 'sh', '-c', script], { stdio: 'ignore' });
    this.#processes.push(child);
    writeFileSync(join(this.#tree.folder('memory', group), 'cgroup.procs'), String(child.pid));
  }
}
