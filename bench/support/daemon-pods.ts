/** The daemon as a child on the containerd of the bench, with pods that come and go as files in its folder. */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ContainerdBed } from '../../test/support/containerd/containerd.ts';
import { Daemon } from '../../test/support/daemon.ts';
import { nowMs } from './measures.ts';
import { manifest } from './pod-configs.ts';

/** Until what a start has set going has come to rest: compilers, timers, the first relists. */
const SETTLING_MS = 3_000;

export class DaemonPods {
  readonly #daemon: Daemon;
  readonly #manifests: string;
  readonly #prepared: string;

  private constructor(bed: ContainerdBed, count: number) {
    const folder = mkdtempSync(join(bed.dir, 'daemon-'));
    [this.#manifests, this.#prepared] = [join(folder, 'manifests'), join(folder, 'prepared')];
    for (const path of [this.#manifests, this.#prepared]) mkdirSync(path);
    for (let index = 0; index < count; index++) {
      const file = join(this.#prepared, `pod-${index}.json`);
      writeFileSync(file, JSON.stringify(manifest(bed, `pod-${index}`)));
    }
    const config = join(folder, 'config.json');
    const header = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
    writeFileSync(config, JSON.stringify({ ...header, podLogsDir: join(folder, 'logs') }));
    const flags = ['--config', config, '--pod-manifest-path', this.#manifests];
    const runtime = ['--container-runtime-endpoint', bed.endpoint, '--cgroup-root', bed.cgroupRoot];
    this.#daemon = new Daemon(join(folder, 'root'), [...flags, ...runtime], {});
  }

  /** Resolves when the daemon waits for pods; `count` of them are prepared. */
  static async listen(bed: ContainerdBed, count: number): Promise<DaemonPods> {
    const pods = new DaemonPods(bed, count);
    try {
      await pods.#daemon.ready();
    } catch (error) {
      pods.#daemon.signal('SIGKILL');
      throw error;
    }
    await pods.settled();
    return pods;
  }

  get pid(): number {
    return this.#daemon.pid;
  }

  settled(): Promise<void> {
    return delay(SETTLING_MS);
  }

  /** Returns when it began, in Unix milliseconds. */
  moveIn(): number {
    return move(this.#prepared, this.#manifests);
  }

  /** Returns when it began, in Unix milliseconds. */
  moveOut(): number {
    return move(this.#manifests, this.#prepared);
  }

  /** Does nothing when it has ended. */
  async stop(): Promise<void> {
    if (this.#daemon.ending === undefined) await this.#daemon.end();
  }
}

function move(from: string, to: string): number {
  const names = readdirSync(from);
  const begunMs = nowMs();
  for (const name of names) renameSync(join(from, name), join(to, name));
  return begunMs;
}
