/** The daemon as a child process on the containerd of the bench; its pods are files that are moved into and out of its folder. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ContainerdBed } from '../../test/support/containerd/containerd.ts';
import { Daemon } from '../../test/support/daemon.ts';
import { type AgentPods, ManifestFolder } from './manifest-folder.ts';

export class DaemonPods extends ManifestFolder implements AgentPods {
  readonly #daemon: Daemon;

  private constructor(bed: ContainerdBed, count: number, endpoint: string) {
    super(bed, 'daemon', count);
    const config = join(this.folder, 'config.json');
    const header = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
    writeFileSync(config, JSON.stringify({ ...header, podLogsDir: join(this.folder, 'logs') }));
    const flags = ['--config', config, '--pod-manifest-path', this.manifests];
    const runtime = ['--container-runtime-endpoint', endpoint, '--cgroup-root', bed.cgroupRoot];
    this.#daemon = new Daemon(join(this.folder, 'root'), [...flags, ...runtime], {});
  }

  /** Resolves when the daemon waits for pods; `count` of them are prepared. */
  static async listen(bed: ContainerdBed, count: number, endpoint = bed.endpoint): Promise<DaemonPods> {
    const pods = new DaemonPods(bed, count, endpoint);
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

  async stop(): Promise<void> {
    if (this.#daemon.ending === undefined) await this.#daemon.end();
  }
}
