import { expect, test } from '@jest/globals';
import { podSandboxChanged } from '../../../../src/agent/policies/pod-actions/pod-actions.ts';
import { podOf } from '../../../support/pod-status-facts.ts';
import { type PartialSandbox, runtimePodStatus } from '../../../support/runtime-pod-status.ts';

const POD = podOf();

const HOST_POD = podOf({ hostNetwork: true });

const READY = { id: 's1', ip: '10.0.0.1' };
const OTHER_READY = { id: 's2', attempt: 1, ip: '10.0.0.2' };

test.each<[string, typeof POD, PartialSandbox[], Partial<ReturnType<typeof podSandboxChanged>>]>([
  ['without a sandbox a first one is needed', POD, [], { changed: true, attempt: 0, sandboxId: '' }],
  [
    'a ready sandbox with an address is kept',
    POD,
    [{ ...READY, attempt: 3 }],
    { changed: false, attempt: 3, sandboxId: 's1' },
  ],
  [
    'a sandbox that is not ready is replaced by the next attempt',
    POD,
    [{ ...READY, attempt: 3, ready: false }],
    { changed: true, attempt: 4, sandboxId: 's1' },
  ],
  [
    'of two ready sandboxes none is kept',
    POD,
    [OTHER_READY, READY],
    { changed: true, attempt: 2, sandboxId: 's2' },
  ],
  [
    'of two sandboxes the only ready one is kept',
    POD,
    [OTHER_READY, { ...READY, ready: false }],
    { changed: false },
  ],
  [
    'a sandbox of the pod network is not used on the host network',
    HOST_POD,
    [{ ...READY, networkMode: 'POD' }],
    { changed: true, attempt: 1, sandboxId: '' },
  ],
  [
    'a sandbox of the host network is not used on the pod network',
    POD,
    [{ id: 's1', networkMode: 'NODE' }],
    { changed: true, attempt: 1, sandboxId: '' },
  ],
  [
    'a sandbox whose address is empty is replaced',
    POD,
    [{ id: 's1', ip: '' }],
    { changed: true, attempt: 1, sandboxId: 's1' },
  ],
  [
    'on the host network a sandbox needs no address',
    HOST_POD,
    [{ id: 's1', ip: '', networkMode: 'NODE' }],
    { changed: false },
  ],
  ['if the runtime reports no addresses, a sandbox needs none', POD, [{ id: 's1' }], { changed: false }],
])('%s', (_what, pod, sandboxes, expected) => {
  expect(podSandboxChanged(pod, runtimePodStatus({ sandboxes }))).toMatchObject(expected);
});
