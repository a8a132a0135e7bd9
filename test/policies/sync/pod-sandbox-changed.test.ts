import { expect, test } from '@jest/globals';
import { podSandboxChanged } from '../../../src/policies/sync/pod-sandbox-changed.ts';
import { podOf } from '../../support/pod-status-facts.ts';
import { type PartialSandbox, runtimePodStatus } from '../../support/runtime-pod-status.ts';

const POD = podOf();
const HOST_POD = podOf({ hostNetwork: true });

const changed = (pod: typeof POD, ...sandboxes: PartialSandbox[]) =>
  podSandboxChanged(pod, runtimePodStatus({ sandboxes }));

test('without a sandbox a first one is needed', () => {
  expect(changed(POD)).toEqual({ changed: true, attempt: 0, sandboxId: '' });
});

test('a ready sandbox with an address is kept', () => {
  const sandbox = { id: 's1', attempt: 3, ip: '10.0.0.1' };
  expect(changed(POD, sandbox)).toEqual({ changed: false, attempt: 3, sandboxId: 's1' });
});

test('a sandbox that is not ready is replaced by the next attempt', () => {
  const sandbox = { id: 's1', attempt: 3, ready: false, ip: '10.0.0.1' };
  expect(changed(POD, sandbox)).toEqual({ changed: true, attempt: 4, sandboxId: 's1' });
});

test('of two ready sandboxes none is kept', () => {
  const ready = [
    { id: 's2', attempt: 1, ip: '10.0.0.2' },
    { id: 's1', attempt: 0, ip: '10.0.0.1' },
  ];
  expect(changed(POD, ...ready)).toEqual({ changed: true, attempt: 2, sandboxId: 's2' });
  const [newest, old] = ready;
  expect(changed(POD, newest!, { ...old!, ready: false }).changed).toBe(false);
});

test('a sandbox of another network than the pod wants is replaced, and not used', () => {
  const onPodNetwork = { id: 's1', ip: '10.0.0.1', networkMode: 'POD' } as const;
  expect(changed(HOST_POD, onPodNetwork)).toEqual({ changed: true, attempt: 1, sandboxId: '' });
  const onHost = { id: 's1', networkMode: 'NODE' } as const;
  expect(changed(POD, onHost)).toEqual({ changed: true, attempt: 1, sandboxId: '' });
});

test('a sandbox whose address is empty is replaced', () => {
  expect(changed(POD, { id: 's1', ip: '' })).toEqual({ changed: true, attempt: 1, sandboxId: 's1' });
});

test("a sandbox needs no address on the host's network, or if the runtime tells none", () => {
  expect(changed(HOST_POD, { id: 's1', ip: '', networkMode: 'NODE' }).changed).toBe(false);
  expect(changed(POD, { id: 's1' }).changed).toBe(false);
});
