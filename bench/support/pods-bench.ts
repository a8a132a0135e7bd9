/** The measurements of `bench:pods`, on one containerd: each leaves it as empty as it was. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ContainerdBed } from '../../test/support/containerd/containerd.ts';
import { BarePods } from './bare-pods.ts';
import type { DaemonPods } from './daemon-pods.ts';
import { cpuSeconds, rssMiB } from './measures.ts';
import type { DaemonTimes, Steady, Times } from './report.ts';
import { RuntimeEvents } from './runtime-events.ts';

/** Between two deaths, so that one does not disturb the next. */
const PAUSE_MS = 500;

export interface Concurrency {
  readonly startsAtOnce: number;
  readonly endsAtOnce: number;
}

export class PodsBench {
  readonly #bed: ContainerdBed;
  readonly #events: RuntimeEvents;
  readonly #bare: BarePods;
  readonly #pods: number;
  #daemon: DaemonPods | undefined;

  private constructor(bed: ContainerdBed, events: RuntimeEvents, pods: number) {
    this.#bed = bed;
    this.#events = events;
    this.#bare = new BarePods(bed);
    this.#pods = pods;
  }

  static async on(bed: ContainerdBed, pods: number): Promise<PodsBench> {
    return new PodsBench(bed, await RuntimeEvents.listen(bed), pods);
  }

  async close(): Promise<void> {
    await this.#daemon?.stop();
    this.#events.stop();
    await this.#bare.close();
  }

  async timeBare({ startsAtOnce, endsAtOnce }: Concurrency): Promise<Times> {
    this.#events.clear();
    const started = await this.#bare.start(this.#pods, startsAtOnce);
    const startMs = (await this.#allRunning()) - started.begunMs;
    this.#events.clear();
    const endedMs = await this.#bare.end(started.pods, endsAtOnce);
    const endMs = (await this.#allGone()) - endedMs;
    this.#bare.cleanUp();
    return { startMs, endMs };
  }

  async timeDaemon(): Promise<DaemonTimes> {
    const daemon = await this.#listen();
    const before = cpuSeconds(daemon.pid);
    this.#events.clear();
    const startedMs = daemon.moveIn();
    const startMs = (await this.#allRunning()) - startedMs;
    await daemon.settled();
    const taken = cpuSeconds(daemon.pid) - before;
    this.#events.clear();
    const endedMs = daemon.moveOut();
    const endMs = (await this.#allGone()) - endedMs;
    await daemon.stop();
    return { startMs, endMs, cpuSeconds: taken };
  }

  /** The daemon with all pods running and nothing to do; then containers that die, one after the other. */
  async steadyDaemon(idleSeconds: number, restarts: number): Promise<Steady> {
    const daemon = await this.#listen();
    this.#events.clear();
    daemon.moveIn();
    await this.#allRunning();
    await daemon.settled();
    const before = cpuSeconds(daemon.pid);
    await delay(idleSeconds * 1000);
    const idleCpuPercent = ((cpuSeconds(daemon.pid) - before) / idleSeconds) * 100;
    const facts = { rssMiB: rssMiB(daemon.pid), idleCpuPercent, idleSeconds };
    const restartMs: number[] = [];
    for (const { pid } of (await this.#mainProcesses()).slice(0, restarts)) {
      const diedMs = await this.#kill(pid);
      restartMs.push((await this.#lastOf('/tasks/start', 1)) - diedMs);
      await delay(PAUSE_MS);
    }
    daemon.moveOut();
    await this.#untilEmpty();
    await daemon.stop();
    return { ...facts, restartMs };
  }

  /** From the first call that a dead container needs to its next instance's start. */
  async bareRestarts(
    { startsAtOnce, endsAtOnce }: Concurrency,
    restarts: number,
  ): Promise<readonly number[]> {
    const started = await this.#bare.start(this.#pods, startsAtOnce);
    const processes = new Map((await this.#mainProcesses()).map(({ id, pid }) => [id, pid]));
    const restartMs: number[] = [];
    for (const pod of started.pods.slice(0, restarts)) {
      await this.#kill(processes.get(pod.containerId) ?? Number.NaN);
      const begunMs = await this.#bare.restart(pod);
      restartMs.push((await this.#lastOf('/tasks/start', 1)) - begunMs);
      await delay(PAUSE_MS);
    }
    await this.#bare.end(started.pods, endsAtOnce);
    await this.#untilEmpty();
    this.#bare.cleanUp();
    return restartMs;
  }

  async #listen(): Promise<DaemonPods> {
    // Of no use, and not there to be loaded, where the daemon has not been built.
    const module = await import('./daemon-pods.ts');
    this.#daemon = await module.DaemonPods.listen(this.#bed, this.#pods);
    return this.#daemon;
  }

  /** When the last of so many things happened, in Unix milliseconds. */
  async #lastOf(topic: string, count: number): Promise<number> {
    const seen = await this.#events.seen(topic, count);
    return Math.max(...seen.map(({ atMs }) => atMs));
  }

  /** A sandbox is a container to the runtime, too. */
  #allRunning(): Promise<number> {
    return this.#lastOf('/tasks/start', 2 * this.#pods);
  }

  async #allGone(): Promise<number> {
    const atMs = await this.#lastOf('/containers/delete', 2 * this.#pods);
    const left = await this.#bed.leftovers();
    if (left.length > 0) throw new Error(`not gone: ${left.join('; ')}`);
    return atMs;
  }

  /** Where nothing is timed any more. */
  async #untilEmpty(): Promise<void> {
    while ((await this.#bed.leftovers()).length > 0) await delay(PAUSE_MS);
  }

  /** Returns when it died, in Unix milliseconds. */
  #kill(pid: number): Promise<number> {
    this.#events.clear();
    process.kill(pid, 'SIGKILL');
    return this.#lastOf('/tasks/exit', 1);
  }

  async #mainProcesses(): Promise<readonly { id: string; pid: number }[]> {
    const isContainer = 'labels."io.cri-containerd.kind"==container';
    const ids = (await this.#bed.ctr('containers', 'list', '--quiet', isContainer))
      .split('\n')
      .filter(Boolean);
    const tasks = await this.#bed.ctr('tasks', 'list');
    return ids.map((id) => ({ id, pid: Number(new RegExp(`^${id}\\s+(\\d+)`, 'm').exec(tasks)?.[1]) }));
  }
}
