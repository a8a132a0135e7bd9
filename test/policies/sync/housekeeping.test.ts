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
  test('one that is desired and alive is left alone', () => {
    expect(plan(['a'], [known('a')], [inRuntime('a', RUNNING)])).toEqual(NOTHING);
  });

  test('9: a finished one that is no longer desired is forgotten', () => {
    expect(plan([], [finished('a')])).toEqual({ ...NOTHING, retire: ['a'] });
  });

  test('9: a finished one that is still desired stays, and does not start again', () => {
    expect(plan(['a'], [finished('a')])).toEqual(NOTHING);
  });

  test('9: a finished one that was asked for again starts again', () => {
    const again = finished('a', { restartRequested: true });
    expect(plan(['a'], [again])).toEqual({ ...NOTHING, retire: ['a'] });
  });

  test('9: one that is ending and was asked for again has to end first', () => {
    const again = known('a', { terminationRequested: true, restartRequested: true });
    expect(plan(['a'], [again])).toEqual(NOTHING);
  });

  test('3: one that left the desired set is ended', () => {
    expect(plan([], [known('a')])).toEqual({ ...NOTHING, kill: ['a'] });
  });

  test('6: one that is ending already is not killed once more', () => {
    expect(plan([], [known('a', { terminationRequested: true })])).toEqual(NOTHING);
  });

  test('what the runtime holds of them is their own affair, whether it runs or not', () => {
    const runtimePods = [inRuntime('a', ENDED), inRuntime('b', RUNNING)];
    const pods = [finished('a'), known('b', { terminationRequested: true })];
    expect(plan([], pods, runtimePods)).toEqual({ ...NOTHING, retire: ['a'] });
  });
});

describe('pods that have none', () => {
  test('a desired one is started', () => {
    expect(plan(['a'], [])).toEqual({ ...NOTHING, start: ['a'] });
  });

  test('I10: a desired one that the runtime holds is started, and neither killed nor removed', () => {
    const runtimePods = [inRuntime('a', RUNNING), inRuntime('b', ENDED)];
    expect(plan(['a', 'b'], [], runtimePods)).toEqual({ ...NOTHING, start: ['a', 'b'] });
  });

  test('3: one that only the runtime knows is killed while something of it runs', () => {
    const orphan = inRuntime('a', RUNNING);
    expect(plan([], [], [orphan])).toEqual({ ...NOTHING, killRuntimePods: [orphan] });
  });

  test('one that only the runtime knows and that has ended is removed', () => {
    const orphan = inRuntime('a', ENDED);
    expect(plan([], [], [orphan])).toEqual({ ...NOTHING, removeRuntimePods: [orphan] });
  });

  test('I10: one whose container is in an unknown state counts as running', () => {
    const orphan = inRuntime('a', { containers: [{ id: 'c', name: 'main', state: 'unknown' }] });
    expect(plan([], [], [orphan]).killRuntimePods).toEqual([orphan]);
  });
});
