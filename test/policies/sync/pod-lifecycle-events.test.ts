import { describe, expect, test } from '@jest/globals';
import { podLifecycleEvents } from '../../../src/policies/sync/pod-lifecycle-events.ts';
import type { RuntimeContainerState } from '../../../src/types/runtime-pod.ts';
import { runtimePodStatus } from '../../support/runtime-pod-status.ts';

type State = RuntimeContainerState | 'gone';

const container = (state: State) =>
  runtimePodStatus({ containers: state === 'gone' ? [] : [{ id: 'c', name: 'main', state }] });
const sandbox = (state: 'ready' | 'notready' | 'gone') =>
  runtimePodStatus({ sandboxes: state === 'gone' ? [] : [{ id: 's', ready: state === 'ready' }] });

describe('what happened to a container, by its state before and after', () => {
  test.each<[State, State, string[]]>([
    ['gone', 'created', ['ContainerChanged']],
    ['gone', 'running', ['ContainerStarted']],
    ['gone', 'exited', ['ContainerDied']],
    ['gone', 'unknown', ['ContainerChanged']],
    ['created', 'running', ['ContainerStarted']],
    ['created', 'exited', ['ContainerDied']],
    ['created', 'gone', ['ContainerDied', 'ContainerRemoved']],
    ['running', 'exited', ['ContainerDied']],
    ['running', 'unknown', ['ContainerChanged']],
    ['running', 'gone', ['ContainerDied', 'ContainerRemoved']],
    ['unknown', 'running', ['ContainerStarted']],
    ['unknown', 'exited', ['ContainerDied']],
    ['unknown', 'gone', ['ContainerDied', 'ContainerRemoved']],
    ['exited', 'gone', ['ContainerRemoved']],
    ['exited', 'running', ['ContainerStarted']],
  ])('%s, then %s: %j', (before, after, types) => {
    expect(podLifecycleEvents(container(before), container(after))).toEqual(
      types.map((type) => ({ type, id: 'c' })),
    );
  });

  test.each<[State, State]>([
    ['gone', 'gone'],
    ['running', 'running'],
    ['exited', 'exited'],
    ['unknown', 'unknown'],
    ['created', 'unknown'],
  ])('%s, then %s: nothing', (before, after) => {
    expect(podLifecycleEvents(container(before), container(after))).toEqual([]);
  });
});

test.each<['ready' | 'notready' | 'gone', 'ready' | 'notready' | 'gone', string[]]>([
  ['gone', 'ready', ['ContainerStarted']],
  ['ready', 'notready', ['ContainerDied']],
  ['notready', 'gone', ['ContainerRemoved']],
  ['ready', 'gone', ['ContainerDied', 'ContainerRemoved']],
])('a sandbox counts as a container: %s, then %s: %j', (before, after, types) => {
  expect(podLifecycleEvents(sandbox(before), sandbox(after))).toEqual(
    types.map((type) => ({ type, id: 's' })),
  );
});

test('without an earlier observation, all that is found is new', () => {
  const found = runtimePodStatus({
    sandboxes: [{ id: 's' }],
    containers: [
      { id: 'old', name: 'main', state: 'exited' },
      { id: 'new', name: 'main', state: 'running' },
    ],
  });
  expect(podLifecycleEvents(undefined, found)).toEqual([
    { type: 'ContainerStarted', id: 's' },
    { type: 'ContainerDied', id: 'old' },
    { type: 'ContainerStarted', id: 'new' },
  ]);
});

test('a restart between two observations is one container that died and another that started', () => {
  const before = runtimePodStatus({ containers: [{ id: 'a', name: 'main', state: 'running' }] });
  const after = runtimePodStatus({
    containers: [
      { id: 'b', name: 'main', state: 'running' },
      { id: 'a', name: 'main', state: 'exited' },
    ],
  });
  const events = podLifecycleEvents(before, after);
  expect(events).toHaveLength(2);
  expect(events).toEqual(
    expect.arrayContaining([
      { type: 'ContainerDied', id: 'a' },
      { type: 'ContainerStarted', id: 'b' },
    ]),
  );
});
