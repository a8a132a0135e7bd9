import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readPod, statesOf } from '../../../../src/agent/runtime/pleg/pod-reader.ts';
import type { RuntimeService } from '../../../../src/agent/runtime/service/runtime-service.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import { runtimePodStatus } from '../../../support/runtime-pod-status.ts';
import { whenExited } from '../../../support/runtime-configs.ts';
import { podBed, type PodBed, podOf, shell } from '../pods/pod-bed.ts';

let bed: PodBed;
beforeAll(() => {
  bed = podBed();
});
afterAll(async () => bed.cleanup());

const notFound = () => Promise.reject(new StateletError('NotFound', 'no such thing'));
const read = (pod: ReturnType<typeof podOf>, more: Partial<RuntimeService>) =>
  readPod({ ...bed.runtime, ...more }, pod.metadata, Date.now());

test('a container without a status that is still listed has the listed state, so that it is not created twice', async () => {
  const pod = podOf({ containers: [shell('main', 'sleep 1000')] });
  const { containers, sandboxes } = await bed.run(pod);
  const seen = await read(pod, { containerStatus: notFound, podSandboxStatus: notFound });
  expect(seen.sandboxes).toMatchObject([{ id: sandboxes[0]?.id, ready: true }]);
  expect(seen.containers).toMatchObject([{ id: containers[0]?.id, name: 'main', state: 'running' }]);
});

test('a container that only the list shows as exited has an unknown reason', async () => {
  const pod = podOf({ containers: [shell('main', 'exit 0')] });
  const { containers } = await bed.run(pod);
  await whenExited(bed.runtime, containers[0]?.id ?? '');
  const seen = await read(pod, { containerStatus: notFound });
  expect(seen.containers).toMatchObject([
    { state: 'exited', exitCode: 137, reason: 'ContainerStatusUnknown' },
  ]);
});

test('a container that is gone before its status is read is left out', async () => {
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

describe('the states of a pod, by which a change is found', () => {
  const main = { id: 'c', name: 'main', state: 'running' } as const;
  const other = { id: 'd', name: 'other', state: 'exited' } as const;
  const before = { sandboxes: [{ id: 's' }], containers: [main, other] };

  test.each([
    [
      'a container changes its state',
      { ...before, containers: [{ ...main, state: 'exited' } as const, other] },
    ],
    ['a container comes', { ...before, containers: [main, other, { ...main, id: 'e' }] }],
    ['a container goes', { ...before, containers: [main] }],
    [
      'a container is replaced by another of its name',
      { ...before, containers: [{ ...main, id: 'e' }, other] },
    ],
    ['a sandbox is no longer ready', { ...before, sandboxes: [{ id: 's', ready: false }] }],
    ['a sandbox goes', { ...before, sandboxes: [] }],
  ])('differ when %s', (_change, after) => {
    expect(statesOf(runtimePodStatus(after))).not.toBe(statesOf(runtimePodStatus(before)));
  });

  test('are equal when only the order of containers or their times differ', () => {
    const after = { ...before, containers: [other, { ...main, startedAt: 7 }] };
    expect(statesOf(runtimePodStatus(after))).toBe(statesOf(runtimePodStatus(before)));
  });

  test('are undefined when the runtime holds nothing of the pod', () => {
    expect(statesOf(runtimePodStatus({}))).toBeUndefined();
  });
});
