/** The removal of dead containers, logs and images on a real containerd. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CONTAINER_GC_POLICY } from '../../../../src/agent/policies/garbage/dead-containers.ts';
import { createCriRuntime } from '../../../../src/agent/runtime/cri/cri-runtime.ts';
import { ContainerGC } from '../../../../src/agent/runtime/garbage/container-gc.ts';
import { fileSystemStats } from '../../../../src/agent/runtime/stats/disks/file-systems.ts';
import { ImageGC } from '../../../../src/agent/runtime/garbage/image-gc.ts';
import type { RuntimeService } from '../../../../src/agent/runtime/service/runtime-service.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import { type ContainerdBed, startContainerd } from '../../../support/containerd/containerd.ts';
import { busyboxImage } from '../../../support/containerd/images.ts';
import { describeWithContainerd, SET_UP_TIMEOUT_MS } from '../../../support/containerd/suite.ts';
import { containerConfig, podConfig, whenExited } from '../../../support/runtime-configs.ts';
import { testContext } from '../../../support/test-context.ts';

describeWithContainerd('garbage in containerd', () => {
  let containerd: ContainerdBed;
  let runtime: RuntimeService;
  let logsDir: string;
  const context = testContext({ clock: systemClock });

  beforeAll(async () => {
    containerd = await startContainerd();
    runtime = createCriRuntime(context, {
      endpoint: containerd.endpoint,
      requestTimeoutMs: 20_000,
    });
    logsDir = mkdtempSync(join(tmpdir(), 'statelet-garbage-'));
  }, SET_UP_TIMEOUT_MS);
  afterAll(async () => {
    await runtime.close();
    await containerd.stop();
    rmSync(logsDir, { recursive: true });
  });

  const imagesLeft = async () => (await runtime.listImages()).flatMap(({ repoTags }) => repoTags).toSorted();

  /** A pod on the host's network whose containers have all ended. */
  async function endedPod(image: string, instances: number) {
    const network = { network: 'NODE', pid: 'CONTAINER', ipc: 'POD' } as const;
    const pod = podConfig(logsDir, { linux: { securityContext: { namespaceOptions: network } } });
    const sandboxId = await runtime.runPodSandbox(pod);
    for (let attempt = 0; attempt < instances; attempt++) {
      const config = containerConfig(['true'], {
        metadata: { name: 'main', attempt },
        image: { image },
        logPath: `main/${attempt}.log`,
        labels: pod.labels,
      });
      const id = await runtime.createContainer(sandboxId, config, pod);
      await runtime.startContainer(id);
      await whenExited(runtime, id);
    }
    return { sandboxId, pod };
  }

  test('all dead containers but the newest are removed; after the end of their pod, all of them and its sandbox are', async () => {
    const { sandboxId, pod } = await endedPod(containerd.image, 3);
    const filter = { podSandboxId: sandboxId };
    let isPodRemovable = false;
    const gc = new ContainerGC(context, {
      runtime,
      policy: CONTAINER_GC_POLICY,
      isPodRemovable: () => isPodRemovable,
    });
    await gc.collect();
    expect((await runtime.listContainers(filter)).map(({ metadata }) => metadata.attempt)).toEqual([2]);

    isPodRemovable = true;
    await gc.collect();
    expect(await runtime.listContainers(filter)).toEqual([]);
    expect(await runtime.listPodSandbox()).toHaveLength(1); // It is ready: it has not been stopped.
    await runtime.stopPodSandbox(sandboxId);
    await gc.collect();
    expect(await runtime.listPodSandbox({ labelSelector: pod.labels })).toEqual([]);
  });

  test('unused images are removed when the disk is too full; images in use and sandbox images stay', async () => {
    const used = 'statelet.test/used:1';
    const unused = 'statelet.test/unused:1';
    await containerd.importImages([busyboxImage(used), busyboxImage(unused)]);
    const { sandboxId } = await endedPod(used, 1);
    let path = '';
    const gc = new ImageGC(context, {
      runtime,
      statfs: async (mountpoint) => {
        path = mountpoint;
        const { capacityBytes } = await fileSystemStats(mountpoint);
        return { capacityBytes, availableBytes: 0 };
      },
      highThresholdPercent: 85,
      lowThresholdPercent: 80,
      minAgeMs: 0,
      maxAgeMs: 0,
    });
    // The images are smaller than the space that is needed.
    await expect(gc.collect()).rejects.toThrow('bytes eligible to free');
    expect(path).toContain('overlayfs');
    await expect(imagesLeft()).resolves.toEqual([containerd.pauseImage, used].sort());
    await runtime.removePodSandbox(sandboxId);
  });

  test('only as many images are removed as needed, and none below the threshold', async () => {
    const images = [1, 2, 3].map((number) => `statelet.test/extra:${number}`);
    // They have the same layers, and are different images by their labels.
    await containerd.importImages(images.map((image) => busyboxImage(image, { Labels: { image } })));
    let availableBytes = 16;
    const gc = new ImageGC(context, {
      runtime,
      statfs: () => Promise.resolve({ capacityBytes: 100, availableBytes }),
      highThresholdPercent: 85,
      lowThresholdPercent: 80,
      minAgeMs: 0,
      maxAgeMs: 0,
    });
    const before = (await imagesLeft()).length;
    await gc.collect();
    expect(await imagesLeft()).toHaveLength(before);
    availableBytes = 15;
    await gc.collect();
    expect(await imagesLeft()).toHaveLength(before - 1);
    await gc.deleteUnusedImages();
    expect(await imagesLeft()).toEqual([containerd.pauseImage]);
  });
});
