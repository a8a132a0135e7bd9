/** The measurements of `bench:pods` on one containerd. Each removes its pods at the end. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { RecordingProxy } from '../../scripts/compare/recording-proxy.ts';
import type { ContainerdBed } from '../../test/support/containerd/containerd.ts';
import { BarePods } from './bare-pods.ts';
import { KubeletPods } from './kubelet-pods.ts';
import type { AgentPods } from './manifest-folder.ts';
import { cpuSeconds, memoryOf } from './measures.ts';
import type { AgentStart, DaemonTimes, Idle, Times } from './report.ts';
import { RuntimeEvents } from './runtime-events.ts';

/** The pause between two deaths of containers, so that one does not disturb the next. */
const PAUSE_MS = 500;

export type AgentName = 'daemon' | 'kubelet';

export interface Concurrency {
  readonly startsAtOnce: number;
  readonly endsAtOnce: number;
}

export class PodsBench {
  readonly #bed: ContainerdBed;
  readonly #events: RuntimeEvents;
  readonly #bare: BarePods;
  readonly #pods: number;
  /** The path of the kubelet's binary. */
  readonly #kubelet: string | undefined;
  #agent: AgentPods | undefined;

  private constructor(bed: ContainerdBed, events: RuntimeEvents, pods: number, kubelet?: string) {
    this.#bed = bed;
    this.#events = events;
    this.#bare = new BarePods(bed);
    this.#pods = pods;
    this.#kubelet = kubelet;
  }

  static async on(bed: ContainerdBed, pods: number, kubelet?: string): Promise<PodsBench> {
    return new PodsBench(bed, await RuntimeEvents.listen(bed), pods, kubelet);
  }

  async close(): Promise<void> {
    await this.#agent?.stop();
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
    const daemon = await this.#listen('daemon');
    const start = await this.#timeStart(daemon);
    this.#events.clear();
    const endedMs = daemon.moveOut();
    const endMs = (await this.#allGone()) - endedMs;
    await daemon.stop();
    return { ...start, endMs };
  }

  /** The kubelet deletes ended pods when it collects garbage: the end of its pods is not measured. */
  async timeKubelet(): Promise<AgentStart> {
    const kubelet = await this.#listen('kubelet');
    const start = await this.#timeStart(kubelet);
    await this.#abandon(kubelet);
    return start;
  }

  /** An idle agent with all pods running: its CPU time and memory, and how often it calls the runtime. */
  async idle(agent: AgentName, idleSeconds: number): Promise<Idle> {
    const socket = join(this.#bed.dir, `${agent}.sock`);
    const proxy = await new RecordingProxy(socket, this.#bed.endpoint, { keepsMessages: false }).start();
    try {
      const pods = await this.#listen(agent, proxy.endpoint);
      this.#events.clear();
      pods.moveIn();
      await this.#allRunning();
      await pods.settled();
      const [before, calls] = [cpuSeconds(pods.pid), proxy.calls.length];
      await delay(idleSeconds * 1000);
      const cpuPercent = ((cpuSeconds(pods.pid) - before) / idleSeconds) * 100;
      const callsPerMinute = ((proxy.calls.length - calls) / idleSeconds) * 60;
      const facts = { memory: memoryOf(pods.pid), cpuPercent, callsPerMinute };
      if (agent === 'daemon') await this.#endDaemon(pods);
      else await this.#abandon(pods);
      return facts;
    } finally {
      proxy.stop();
    }
  }

  /** The time from a container's death to its restart, for one container after another. */
  async daemonRestarts(restarts: number): Promise<readonly number[]> {
    const daemon = await this.#listen('daemon');
    this.#events.clear();
    daemon.moveIn();
    await this.#allRunning();
    await daemon.settled();
    const restartMs: number[] = [];
    for (const { pid } of (await this.#mainProcesses()).slice(0, restarts)) {
      const diedMs = await this.#kill(pid);
      restartMs.push((await this.#lastOf('/tasks/start', 1)) - diedMs);
      await delay(PAUSE_MS);
    }
    await this.#endDaemon(daemon);
    return restartMs;
  }

  /** The time from the first CRI call for a dead container to its restart. */
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

  async #listen(agent: AgentName, endpoint = this.#bed.endpoint): Promise<AgentPods> {
    if (agent === 'kubelet') {
      this.#agent = await KubeletPods.listen(this.#bed, this.#kubelet ?? '', this.#pods, endpoint);
    } else {
      // Loaded here, because it cannot be loaded if the daemon has not been built.
      const module = await import('./daemon-pods.ts');
      this.#agent = await module.DaemonPods.listen(this.#bed, this.#pods, endpoint);
    }
    return this.#agent;
  }

  async #timeStart(agent: AgentPods): Promise<AgentStart> {
    const before = cpuSeconds(agent.pid);
    this.#events.clear();
    const startedMs = agent.moveIn();
    const startMs = (await this.#allRunning()) - startedMs;
    await agent.settled();
    return { startMs, cpuSeconds: cpuSeconds(agent.pid) - before };
  }

  async #endDaemon(daemon: AgentPods): Promise<void> {
    daemon.moveOut();
    await this.#untilEmpty();
    await daemon.stop();
  }

  /** Stops the agent, then removes its pods. */
  async #abandon(agent: AgentPods): Promise<void> {
    await agent.stop();
    await this.#bare.removeAll();
    await this.#untilEmpty();
  }

  /** When the last of `count` events happened, in Unix milliseconds. */
  async #lastOf(topic: string, count: number): Promise<number> {
    const seen = await this.#events.seen(topic, count);
    return Math.max(...seen.map(({ atMs }) => atMs));
  }

  /** containerd counts a sandbox as a container too. */
  #allRunning(): Promise<number> {
    return this.#lastOf('/tasks/start', 2 * this.#pods);
  }

  async #allGone(): Promise<number> {
    const atMs = await this.#lastOf('/containers/delete', 2 * this.#pods);
    const left = await this.#bed.leftovers();
    if (left.length > 0) throw new Error(`not gone: ${left.join('; ')}`);
    return atMs;
  }

  /** Waits until all pods are gone. This is not measured. */
  async #untilEmpty(): Promise<void> {
    while ((await this.#bed.leftovers()).length > 0) await delay(PAUSE_MS);
  }

  /** Returns the time of the death, in Unix milliseconds. */
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
