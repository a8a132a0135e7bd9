/**
 * The events of containerd, from its own client. The client gets them without polling, which would disturb the measurement.
 * They have containerd's times, so it does not matter when they are read.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import type { ContainerdBed } from '../../test/support/containerd/containerd.ts';

export interface RuntimeEvent {
  /** Unix milliseconds. */
  readonly atMs: number;
  /** `/tasks/start`, `/containers/delete`, … */
  readonly topic: string;
  readonly containerId: string;
  /** For tasks: the process ID of the first process on the node. */
  readonly pid: number;
}

const LINE = /^(\S+) (\S+) \S+ \S+ \S+ (\/\S+) (.*)$/;
const TIMEOUT_MS = 120_000;

export class RuntimeEvents {
  readonly #child: ChildProcess;
  readonly #arrivals = new EventEmitter();
  readonly #events: RuntimeEvent[] = [];

  private constructor(bed: ContainerdBed) {
    const args = ['--address', bed.endpoint.replace('unix://', ''), '--namespace', 'k8s.io', 'events'];
    this.#child = spawn('ctr', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    if (this.#child.stdout)
      createInterface({ input: this.#child.stdout }).on('line', (line) => this.#note(line));
  }

  static async listen(bed: ContainerdBed): Promise<RuntimeEvents> {
    const events = new RuntimeEvents(bed);
    // The client does not say when it has begun to listen, so events are caused until one arrives.
    for (let n = 0; events.#events.length === 0; n++) {
      await bed.ctr('images', 'label', bed.image, `bench=${n}`);
      await delay(50);
    }
    return events;
  }

  /** Drops all events so far. */
  clear(): void {
    this.#events.length = 0;
  }

  /** Resolves with the events of a topic as soon as there are `count` of them since `clear`. */
  async seen(topic: string, count: number): Promise<readonly RuntimeEvent[]> {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    for (;;) {
      const found = this.#events.filter((event) => event.topic === topic);
      if (found.length >= count) return found;
      const inVain = new Error(`waited in vain for ${count} ${topic}: saw ${found.length}`);
      await once(this.#arrivals, 'event', { signal }).catch(() => Promise.reject(inVain));
    }
  }

  stop(): void {
    this.#child.kill();
  }

  #note(line: string): void {
    const [, day = '', time = '', topic = '', json = '{}'] = LINE.exec(line) ?? [];
    const about = JSON.parse(json) as { id?: string; container_id?: string; pid?: number };
    const containerId = about.container_id ?? about.id ?? '';
    this.#events.push({ atMs: Date.parse(`${day}T${time}Z`), topic, containerId, pid: about.pid ?? 0 });
    this.#arrivals.emit('event');
  }
}
