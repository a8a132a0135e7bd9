import { describe, expect, test } from '@jest/globals';
import {
  asksForMore,
  asksForMoreThan,
  namesWithoutBackOff,
  resyncReason,
} from '../../../../src/agent/policies/pod-actions/after-sync.ts';
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
