import { describe, expect, test } from '@jest/globals';
import {
  isEndingState,
  isPastSyncing,
  isRead,
  isStart,
  isTerminated,
  secondInstance,
} from '../../../src/simulation/judges/pod-states.ts';
import { container, LifecycleJudgeBed, sandbox } from './lifecycle-judge-bed.ts';

test.each([
  ['Syncing.Working', { ending: false, terminated: false, pastSyncing: false }],
  ['Syncing.Settled', { ending: false, terminated: false, pastSyncing: false }],
  ['Syncing.Draining', { ending: true, terminated: false, pastSyncing: true }],
  ['Terminating.Stopping', { ending: true, terminated: false, pastSyncing: true }],
  ['Terminated.CleaningUp', { ending: false, terminated: true, pastSyncing: true }],
  ['Terminated.Finished', { ending: false, terminated: true, pastSyncing: true }],
])('%s: %j', (state, expected) => {
  expect({
    ending: isEndingState(state),
    terminated: isTerminated(state),
    pastSyncing: isPastSyncing(state),
  }).toEqual(expected);
});

describe('I10: at most one instance of a container runs', () => {
  test('a second instance in the same sandbox is found', () => {
    const bed = new LifecycleJudgeBed();
    const [one, two] = [container('c1'), container('c2')];
    bed.sandboxes.push(sandbox(true, one, two));
    expect(secondInstance(bed.truth, two)).toBe(one);
  });

  test('a second instance in another sandbox is found', () => {
    const bed = new LifecycleJudgeBed();
    const [one, two] = [container('c1'), container('c2')];
    bed.sandboxes.push(sandbox(false, one), sandbox(true, two));
    expect(secondInstance(bed.truth, two)).toBe(one);
  });

  test('an ended instance and a container of another name are not second instances', () => {
    const bed = new LifecycleJudgeBed();
    const started = container('c3');
    const ended = container('c1', { state: 'CONTAINER_EXITED' });
    const other = container('c2', { metadata: { name: 'second', attempt: 0 } });
    bed.sandboxes.push(sandbox(true, ended, other, started));
    expect(secondInstance(bed.truth, started)).toBeUndefined();
  });
});

test.each([
  ['ListContainers', { start: false, read: true }],
  ['ContainerStatus', { start: false, read: true }],
  ['ExecSync', { start: false, read: true }],
  ['StartContainer', { start: true, read: false }],
  ['RunPodSandbox', { start: true, read: false }],
  ['StopContainer', { start: false, read: false }],
  ['RemoveImage', { start: false, read: false }],
] as const)('%s may start something, or changes nothing: %j', (name, expected) => {
  expect({ start: isStart(name), read: isRead(name) }).toEqual(expected);
});
