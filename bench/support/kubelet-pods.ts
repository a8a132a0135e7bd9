/** The kubelet, with the same interface as the daemon. */
import { join } from 'node:path';
import { type Kubelet, startKubelet } from '../../scripts/compare/kubelet.ts';
import { makeCgroup } from '../../test/support/containerd/cgroups.ts';
import type { ContainerdBed } from '../../test/support/containerd/containerd.ts';
import { type AgentPods, ManifestFolder } from './manifest-folder.ts';

/** The log is not read, as with the daemon. */
const CONFIG = { logging: { verbosity: 0 } };

export class KubeletPods extends ManifestFolder implements AgentPods {
  #kubelet: Kubelet | undefined;

  /** Resolves when the kubelet waits for pods; `count` of them are prepared. */
  static async listen(
    bed: ContainerdBed,
    binary: string,
    count: number,
    endpoint = bed.endpoint,
  ): Promise<KubeletPods> {
    const pods = new KubeletPods(bed, 'kubelet', count);
    const { folder: dir, manifests } = pods;
    const cgroupRoot = join(bed.cgroupRoot, 'kubelet');
    makeCgroup(cgroupRoot);
    const options = {
      dir: join(dir, 'own'),
      cgroupRoot: cgroupRoot.slice(1),
      endpoint,
      manifests,
      config: CONFIG,
    };
    pods.#kubelet = await startKubelet(binary, options);
    await pods.settled();
    return pods;
  }

  get pid(): number {
    return this.#kubelet?.pid ?? 0;
  }

  async stop(): Promise<void> {
    await this.#kubelet?.stop();
  }
}
