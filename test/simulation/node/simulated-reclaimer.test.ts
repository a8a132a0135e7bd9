/** Which containers and images are removed when the disk of a simulated node is short. */
import { expect, test } from '@jest/globals';
import {
  SimulatedReclaimer,
  type SimulatedReclaimerOptions,
} from '../../../src/simulation/node/simulated-reclaimer.ts';
import { sandboxConfig, simulatedBed } from '../runtime/simulated-bed.ts';
import { containerConfig } from '../../support/runtime-configs.ts';
import { testContext } from '../../support/test-context.ts';

/** A pod that goes on, and one that has ended. Each has two dead instances of a container. */
async function bed(options: Pick<SimulatedReclaimerOptions, 'images'> = {}) {
  const { clock, simulated, runtime } = simulatedBed({ images: ['old', 'used'] });
  for (const uid of ['living', 'ended']) {
    const config = sandboxConfig(uid);
    const sandboxId = await runtime.runPodSandbox(config);
    for (const attempt of [0, 1]) {
      const more = { metadata: { name: 'main', attempt }, image: { image: 'used' }, labels: config.labels };
      const id = await runtime.createContainer(sandboxId, containerConfig(['succeed'], more), config);
      await runtime.startContainer(id);
      await clock.advance(1_000);
    }
    if (uid === 'ended') await runtime.stopPodSandbox(sandboxId);
  }
  const told: string[] = [];
  const reclaimer = new SimulatedReclaimer(testContext({ clock }), simulated.connect(), {
    onReclaim: (what) => {
      told.push(what);
      return () => told.push(`no more ${what}`);
    },
    ...options,
  });
  const isPodTerminated = (uid: string) => uid === 'ended';
  reclaimer.start({ pods: () => [], isPodRemovable: () => false, isPodTerminated });
  await clock.advance(120_000);
  const left = () => ({
    containers: simulated
      .uids()
      .flatMap((uid) => simulated.sandboxesOf(uid))
      .flatMap(({ containers }) => containers.map(({ id }) => id)),
    images: simulated.images().map(({ id }) => id),
  });
  return { clock, simulated, reclaimer, told, left };
}

test('dead containers are removed; of a pod that goes on, the newest instance of each container stays', async () => {
  const { reclaimer, told, left } = await bed();
  await reclaimer.deleteDeadContainers();
  expect(left()).toEqual({ containers: ['living.c2'], images: ['old', 'used'] });
  expect(told).toEqual(['containers', 'no more containers']);
});

test('images that no container uses are removed', async () => {
  const { reclaimer, told, left } = await bed();
  await reclaimer.deleteUnusedImages();
  expect(left().images).toEqual(['used']);
  expect(told).toEqual(['images', 'no more images']);
});

test('if the runtime is down, the removals fail, and nothing is removed', async () => {
  const { simulated, reclaimer, told, left } = await bed();
  simulated.goDown();
  await expect(reclaimer.deleteUnusedImages()).rejects.toMatchObject({ kind: 'Unavailable' });
  await expect(reclaimer.deleteDeadContainers()).rejects.toMatchObject({ kind: 'Unavailable' });
  expect(left().images).toEqual(['old', 'used']);
  expect(left().containers).toHaveLength(4);
  expect(told).toEqual(['images', 'no more images', 'containers', 'no more containers']);
});

test.each([
  { fullPercent: 84, images: ['old', 'used'] },
  { fullPercent: 85, images: ['used'] },
])('images are removed from time to time once the disk is 85% full: $fullPercent%', async (of) => {
  const gone: string[] = [];
  const statfs = () => Promise.resolve({ capacityBytes: 100, availableBytes: 100 - of.fullPercent });
  const { clock, reclaimer, left } = await bed({
    images: { statfs, onRemoved: (image) => gone.push(image) },
  });
  expect(left().images).toEqual(['old', 'used']);
  await clock.advance(300_000);
  expect(left().images).toEqual(of.images);
  expect(gone).toEqual(['old', 'used'].filter((image) => !of.images.includes(image)));
  await reclaimer.stop();
});
