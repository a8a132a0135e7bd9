import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readPod } from '../../../src/runtime/pleg/pod-reader.ts';
import type { RuntimeService } from '../../../src/runtime/service/runtime-service.ts';
import { StateletError } from '../../../src/types/errors.ts';
import { whenExited } from '../../support/runtime-configs.ts';
import { podBed, type PodBed, podOf, shell } from '../pods/pod-bed.ts';

let bed: PodBed;
beforeAll(() => {
  bed = podBed();
});
afterAll(async () => bed.cleanup());

const notFound = () => Promise.reject(new StateletError('NotFound', 'no such thing'));
const read = (pod: ReturnType<typeof podOf>, more: Partial<RuntimeService>) =>
  readPod({ ...bed.runtime, ...more }, pod.metadata, Date.now());

test('what is said not to be there and is listed all the same is as the list shows it: nothing is made twice', async () => {
  const pod = podOf({ containers: [shell('main', 'sleep 1000')] });
  const { containers, sandboxes } = await bed.run(pod);
  const seen = await read(pod, { containerStatus: notFound, podSandboxStatus: notFound });
  expect(seen.sandboxes).toMatchObject([{ id: sandboxes[0]?.id, ready: true }]);
  expect(seen.containers).toMatchObject([{ id: containers[0]?.id, name: 'main', state: 'running' }]);
});

test('of an end of which only the list knows nothing more is known', async () => {
  const pod = podOf({ containers: [shell('main', 'exit 0')] });
  const { containers } = await bed.run(pod);
  await whenExited(bed.runtime, containers[0]?.id ?? '');
  const seen = await read(pod, { containerStatus: notFound });
  expect(seen.containers).toMatchObject([
    { state: 'exited', exitCode: 137, reason: 'ContainerStatusUnknown' },
  ]);
});

test('what has gone between being listed and being looked at is gone', async () => {
  const pod = podOf({ containers: [shell('main', 'sleep 1000')] });
  const { containers } = await bed.run(pod);
  const seen = await read(pod, {
    containerStatus: async (id, options) => {
      await bed.runtime.removeContainer(id);
      return bed.runtime.containerStatus(id, options);
    },
  });
  expect(containers).toHaveLength(1);
  expect(seen.containers).toEqual([]);
});
