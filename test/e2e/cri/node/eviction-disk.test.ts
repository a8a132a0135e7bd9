/** The disk of pods, images and containers is full: unused images and dead containers are removed first, then a pod is evicted. */
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import {
  type EvictingAgent,
  evictablePod,
  startEvictingAgent,
} from '../../../support/containerd/evicting-agent.ts';
import { busyboxImage, standardImages } from '../../../support/containerd/images.ts';
import { thresholds } from '../../../support/eviction.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { describeOnBed } from '../../../support/cri-suite.ts';

const MIB = 2 ** 20;
const DISK_MIB = 256;
/** An image takes that space twice: compressed, and unpacked. */
const IMAGE_MIB = 30;
/** What earlier tests may leave: less than lies between the thresholds and what is available. */
const REMAINS_MIB = 2;
const LARGE = 'statelet.test/large:1';

describeOnBed('a disk that pods, images and containers share', { diskBytes: DISK_MIB * MIB }, (bed) => {
  let agent: EvictingAgent;
  /** What is available with the images alone. */
  let idleMiB: number | undefined;

  beforeEach(async () => {
    const large = [{ path: 'large', content: Buffer.alloc(IMAGE_MIB * MIB, 1) }];
    await bed.containerd.importImages([...standardImages(), busyboxImage(LARGE, {}, large)]);
    idleMiB ??= await roomMiB();
  });
  afterEach(() => agent.cleanUp());

  const roomMiB = async () => {
    const { bavail, bsize } = await statfs(bed.containerd.rootDir);
    return (bavail * bsize) / MIB;
  };

  async function start(availableMiB: number): Promise<void> {
    // containerd removes the files of the last test with a delay. Until then the disk may be short, and no pod is admitted.
    const isIdle = async () => (await roomMiB()) > (idleMiB ?? 0) - REMAINS_MIB;
    await waitFor(isIdle, { what: 'the disk to have room', pauseMs: 100 });
    const evictionHard = { 'nodefs.available': `${availableMiB}Mi` };
    agent = await startEvictingAgent(bed.containerd, {
      rootDir: join(bed.containerd.rootDir, 'agent'),
      config: { imageMinimumGCAge: '0s' },
      settings: () => ({ thresholds: thresholds({ evictionHard }) }),
    });
  }

  const imageNames = async () => (await agent.runtime.listImages()).flatMap(({ repoTags }) => repoTags);
  const containersOf = async (pod: string) =>
    (await agent.runtime.listContainers()).filter(({ labels }) => labels['io.kubernetes.pod.name'] === pod);
  const looking = (check: () => boolean | Promise<boolean>, what: string) =>
    waitFor(
      () => {
        agent.look();
        return check();
      },
      { what, pauseMs: 100 },
    );

  test('is freed of the containers of ended pods and the images that only they used, and no pod is evicted', async () => {
    await start(150);
    const writing = bed.shell('dd if=/dev/zero of=/file bs=1M count=60', { image: LARGE });
    const ofOver = async () => (await containersOf('over')).length;
    agent.add(evictablePod('over', writing, { restartPolicy: 'Never' }));
    // Eviction also looks by itself, and may have removed it when the pod is known to have ended.
    await waitFor(async () => (await ofOver()) === 1, { what: 'its container' });
    const done = bed.shell('true', { name: 'done' });
    const containers = [bed.server(), done];
    agent.add(evictablePod('running', done, { restartPolicy: 'OnFailure', containers }));
    await agent.until('uid-running', 'Syncing.Settled');
    await agent.until('uid-over', 'Terminated.Finished');
    await looking(async () => !(await imageNames()).includes(LARGE), 'the image to be gone');
    expect(await ofOver()).toBe(0);
    await agent.looked();
    expect(agent.events).not.toContain('running Evicted');
    // A completed container does not run again, although it was removed.
    expect((await containersOf('running')).map(({ metadata, state }) => [metadata.name, state])).toEqual(
      expect.arrayContaining([
        ['main', 'CONTAINER_RUNNING'],
        ['done', 'CONTAINER_EXITED'],
      ]),
    );
    expect(await containersOf('running')).toHaveLength(2);
  });

  test('is freed of images, and if that is not enough, the pod that fills the disk is evicted', async () => {
    await start(160);
    const volumes = [{ name: 'scratch', emptyDir: {} }];
    const volumeMounts = [{ name: 'scratch', mountPath: '/scratch' }];
    const filling = 'dd if=/dev/zero of=/scratch/file bs=1M count=128; trap "exit 0" TERM; sleep 1000 & wait';
    agent.add(evictablePod('modest', bed.server({ volumeMounts }), { volumes }));
    agent.add(evictablePod('writer', bed.shell(filling, { volumeMounts }), { volumes }));
    await looking(() => agent.state('uid-writer') === 'Terminated.Finished', 'the writer to be evicted');
    const removed = agent.log.indexOf('Removing unused image');
    const chosen = agent.log.findIndex((line) => line.includes(' pods ranked: '));
    expect(removed).toBeGreaterThan(-1);
    expect(chosen).toBeGreaterThan(removed);
    expect(await imageNames()).not.toContain(LARGE);
    expect(agent.statusManager.get('uid-writer')).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
    expect(agent.state('uid-modest')).toBe('Syncing.Settled');
  });
});
