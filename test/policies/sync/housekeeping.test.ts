import { describe, expect, test } from '@jest/globals';
import { type KnownPod, planHousekeeping } from '../../../src/policies/sync/housekeeping.ts';
import type { RuntimePodStatus } from '../../../src/types/runtime-pod.ts';
import { type PartialPodStatus, runtimePodStatus } from '../../support/runtime-pod-status.ts';

const NOTHING = { retire: [], kill: [], start: [], killRuntimePods: [], removeRuntimePods: [] };
const RUNNING: PartialPodStatus = { sandboxes: [{ id: 's' }] };
const ENDED: PartialPodStatus = {
  sandboxes: [{ id: 's', ready: false }],
  containers: [{ id: 'c', name: 'main', state: 'exited' }],
};

const known = (uid: string, more: Partial<KnownPod> = {}): KnownPod => ({
  uid,
  finished: false,
  terminationRequested: false,
  restartRequested: false,
  ...more,
});
const finished = (uid: string, more: Partial<KnownPod> = {}) =>
  known(uid, { finished: true, terminationRequested: true, ...more });
const inRuntime = (uid: string, state: PartialPodStatus): RuntimePodStatus => ({
  ...runtimePodStatus(state),
  uid,
});
const plan = (desired: string[], pods: KnownPod[], runtimePods: RuntimePodStatus[] = []) =>
  planHousekeeping({ desired: new Set(desired), known: pods, runtimePods });

describe('pods that have an actor', () => {
  test('a desired pod that runs is left alone', () => {
    expect(plan(['a'], [known('a')], [inRuntime('a', RUNNING)])).toEqual(NOTHING);
  });

  test('9: a finished pod that is no longer desired is retired', () => {
    expect(plan([], [finished('a')])).toEqual({ ...NOTHING, retire: ['a'] });
  });

  test('9: a finished pod that is still desired is kept, and not started again', () => {
    expect(plan(['a'], [finished('a')])).toEqual(NOTHING);
  });

  test('9: a finished pod whose restart was requested is retired, to be started again', () => {
    const again = finished('a', { restartRequested: true });
    expect(plan(['a'], [again])).toEqual({ ...NOTHING, retire: ['a'] });
  });

  test('9: an ending pod whose restart was requested has to end first', () => {
    const again = known('a', { terminationRequested: true, restartRequested: true });
    expect(plan(['a'], [again])).toEqual(NOTHING);
  });

  test('3: a pod that is no longer desired is killed', () => {
    expect(plan([], [known('a')])).toEqual({ ...NOTHING, kill: ['a'] });
  });

  test('6: an ending pod is not killed a second time', () => {
    expect(plan([], [known('a', { terminationRequested: true })])).toEqual(NOTHING);
  });

  test('what the runtime holds of a pod with an actor is left to the actor', () => {
    const runtimePods = [inRuntime('a', ENDED), inRuntime('b', RUNNING)];
    const pods = [finished('a'), known('b', { terminationRequested: true })];
    expect(plan([], pods, runtimePods)).toEqual({ ...NOTHING, retire: ['a'] });
  });
});

describe('pods without an actor', () => {
  test('a desired pod is started', () => {
    expect(plan(['a'], [])).toEqual({ ...NOTHING, start: ['a'] });
  });

  test('I10: a desired pod that the runtime holds is started, and neither killed nor removed', () => {
    const runtimePods = [inRuntime('a', RUNNING), inRuntime('b', ENDED)];
    expect(plan(['a', 'b'], [], runtimePods)).toEqual({ ...NOTHING, start: ['a', 'b'] });
  });

  test('3: a pod that only the runtime knows is killed while a part of it runs', () => {
    const orphan = inRuntime('a', RUNNING);
    expect(plan([], [], [orphan])).toEqual({ ...NOTHING, killRuntimePods: [orphan] });
  });

  test('a pod that only the runtime knows is removed once it has ended', () => {
    const orphan = inRuntime('a', ENDED);
    expect(plan([], [], [orphan])).toEqual({ ...NOTHING, removeRuntimePods: [orphan] });
  });

  test('I10: a pod with a container in an unknown state counts as running', () => {
    const orphan = inRuntime('a', { containers: [{ id: 'c', name: 'main', state: 'unknown' }] });
    expect(plan([], [], [orphan]).killRuntimePods).toEqual([orphan]);
  });
});
