import { describe, expect, test } from '@jest/globals';
import {
  asksForMore,
  asksForMoreThan,
  namesWithoutBackOff,
  resyncReason,
} from '../../../../src/agent/policies/pod-actions/after-sync.ts';
import type { Container } from '../../../../src/types/kubernetes.ts';
import { noActions } from '../../../support/no-actions.ts';
import { testPod } from '../../../support/pods.ts';
import { runtimePodStatus } from '../../../support/runtime-pod-status.ts';

const NOTHING = noActions('s1');
const POD = { ...testPod(), spec: { containers: [{ name: 'a' }, { name: 'b' }] } };
const running = runtimePodStatus({ containers: [{ id: '1', name: 'a', state: 'running' }] });
const ended = runtimePodStatus({ containers: [{ id: '1', name: 'a', state: 'exited' }] });
const none = runtimePodStatus({});

describe('asksForMore', () => {
  test('a pod that is to be killed asks for more as long as something of it runs', () => {
    expect(asksForMore({ ...NOTHING, killPod: true }, running)).toBe(true);
    expect(asksForMore({ ...NOTHING, killPod: true }, ended)).toBe(false);
  });
});

describe('asksForMoreThan', () => {
  test('a container that has not failed does not wait for one that has', () => {
    const actions = { ...NOTHING, containersToStart: [0, 1] };
    expect(asksForMoreThan(new Set(['a']), POD, actions)).toBe(true);
    expect(asksForMoreThan(new Set(['a', 'b']), POD, actions)).toBe(false);
  });

  const withInit = (...initContainers: Container[]) => ({ ...POD, spec: { ...POD.spec, initContainers } });
  const SIDECAR = { name: 'side', restartPolicy: 'Always' };
  const starting = { ...NOTHING, initContainersToStart: [0], containersToStart: [0] };

  test('no container waits for a sidecar that has failed', () => {
    expect(asksForMoreThan(new Set(['side']), withInit(SIDECAR), starting)).toBe(true);
    expect(asksForMoreThan(new Set(['side', 'a']), withInit(SIDECAR), starting)).toBe(false);
    const both = { ...NOTHING, initContainersToStart: [0, 1] };
    expect(asksForMoreThan(new Set(['side']), withInit(SIDECAR, { name: 'init' }), both)).toBe(true);
  });

  test('all containers wait for an init container that has failed', () => {
    expect(asksForMoreThan(new Set(['init']), withInit({ name: 'init' }), starting)).toBe(false);
    const both = { ...NOTHING, initContainersToStart: [0, 1] };
    expect(asksForMoreThan(new Set(['init']), withInit({ name: 'init' }, SIDECAR), both)).toBe(false);
  });

  test('a pod that needs a new sandbox waits for its back-off', () => {
    const actions = { ...NOTHING, createSandbox: true, containersToStart: [1] };
    expect(asksForMoreThan(new Set(['a']), POD, actions)).toBe(false);
  });
});

describe('namesWithoutBackOff', () => {
  const failures = [{ target: 'a' }, { target: 'b' }];

  test('leaves out a container that was created in this sync and has ended', () => {
    expect(namesWithoutBackOff(failures, none, ended)).toEqual(new Set(['b']));
  });

  test('keeps a container whose former instance had ended before', () => {
    expect(namesWithoutBackOff(failures, ended, ended)).toEqual(new Set(['a', 'b']));
  });
});

describe('resyncReason', () => {
  test('is the first back-off that is over, if all failures wait for one', () => {
    const failures = [
      { target: 'a', retryAt: 20 },
      { target: 'b', retryAt: 10 },
    ];
    expect(resyncReason(failures)).toEqual({ kind: 'backOff', retryAt: 10 });
  });

  test('is a failure if one of them waits for none', () => {
    expect(resyncReason([{ target: 'a', retryAt: 20 }, { target: 'b' }])).toEqual({ kind: 'failed' });
  });
});
