import { describe, expect, test } from '@jest/globals';
import {
  type ContainerFacts,
  containerID,
  containerState,
  forgottenContainerStatus,
  inferredCompletion,
  inferredEnd,
} from '../../../../src/agent/policies/status/container-state.ts';
import type { ContainerStatus } from '../../../../src/types/kubernetes.ts';
import type { RuntimeContainerStatus } from '../../../../src/types/runtime-pod.ts';
import { podOf } from '../../../support/pod-status-facts.ts';
import { runtimePodStatus } from '../../../support/runtime-pod-status.ts';

const FACTS = { runtimeName: 'containerd', podRestarting: false };

/** Times are Unix seconds. */
function instance(fields: Partial<RuntimeContainerStatus>): RuntimeContainerStatus {
  return runtimePodStatus({ containers: [{ id: 'a1', name: 'app', state: 'exited', ...fields }] })
    .containers[0]!;
}

const before = (state: ContainerStatus['state']): ContainerStatus => {
  return { name: 'app', image: '', imageID: '', ready: false, restartCount: 0, ...(state && { state }) };
};

test('the id of a container begins with the name of its runtime', () => {
  expect(containerID('containerd', 'a1')).toBe('containerd://a1');
});

describe('the state of an instance', () => {
  test('that runs says since when', () => {
    expect(containerState(instance({ state: 'running', startedAt: 60 }), FACTS, undefined)).toEqual({
      running: { startedAt: '1970-01-01T00:01:00Z' },
    });
  });

  test('that has ended says how and when', () => {
    const ended = instance({ exitCode: 3, reason: 'Error', message: 'out', startedAt: 60, finishedAt: 120 });
    expect(containerState(ended, FACTS, undefined)).toEqual({
      terminated: {
        exitCode: 3,
        reason: 'Error',
        message: 'out',
        startedAt: '1970-01-01T00:01:00Z',
        finishedAt: '1970-01-01T00:02:00Z',
        containerID: 'containerd://a1',
      },
    });
  });

  test('that has ended has no empty reason or message', () => {
    const { terminated } = containerState(instance({ exitCode: 0 }), FACTS, undefined);
    expect(Object.keys(terminated ?? {})).toEqual(['exitCode', 'startedAt', 'finishedAt', 'containerID']);
  });

  test('that was created and not started waits', () => {
    expect(containerState(instance({ state: 'created' }), FACTS, undefined)).toEqual({ waiting: {} });
  });

  test('in an unknown state waits, unless it was reported as running', () => {
    const unknown = instance({ state: 'unknown' });
    expect(containerState(unknown, FACTS, undefined)).toEqual({ waiting: {} });
    expect(containerState(unknown, FACTS, before({ waiting: {} }))).toEqual({ waiting: {} });
  });

  test('in an unknown state that was reported as running has been killed', () => {
    const unknown = instance({ state: 'unknown' });
    expect(containerState(unknown, FACTS, before({ running: {} }))).toEqual({
      terminated: {
        exitCode: 137,
        reason: 'ContainerStatusUnknown',
        message: 'The container could not be located when the pod was terminated',
      },
    });
    const restarting = { ...FACTS, podRestarting: true };
    expect(containerState(unknown, restarting, before({ running: {} })).terminated?.reason).toBe(
      'RestartingAllContainers',
    );
  });
});

const APP = { name: 'app', image: 'app:1' };

function factsOf(fields: Partial<ContainerFacts> = {}): ContainerFacts {
  return {
    pod: podOf(),
    podStatus: runtimePodStatus({}),
    startFailures: new Map(),
    podRestarting: false,
    runtimeName: 'process',
    ...fields,
  };
}

function reported(state: ContainerStatus['state'], more: Partial<ContainerStatus> = {}): ContainerStatus {
  return {
    name: 'app',
    image: 'app:1',
    imageID: 'i',
    ready: true,
    restartCount: 2,
    ...(state && { state }),
    ...more,
  };
}

describe('a container that the runtime does not hold', () => {
  test('and that was never reported waits to be created', () => {
    expect(forgottenContainerStatus(factsOf(), APP, undefined)).toEqual({
      name: 'app',
      image: 'app:1',
      imageID: '',
      ready: false,
      restartCount: 0,
      state: { waiting: { reason: 'ContainerCreating' } },
    });
  });

  test('waits for init containers where the pod has any', () => {
    const pod = podOf({ initContainers: [{ name: 'setup' }] });
    expect(forgottenContainerStatus(factsOf({ pod }), APP, undefined).state).toEqual({
      waiting: { reason: 'PodInitializing' },
    });
  });

  test('and whose end was reported keeps that status', () => {
    const old = reported({ terminated: { exitCode: 1 } }, { containerID: 'process://a1' });
    expect(forgottenContainerStatus(factsOf(), APP, old)).toEqual(old);
  });

  test('and that was reported as running has been killed, and counts a restart', () => {
    expect(forgottenContainerStatus(factsOf(), APP, reported({ running: {} }))).toMatchObject({
      state: { waiting: { reason: 'ContainerCreating' } },
      lastState: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } },
      restartCount: 3,
    });
  });

  test('counts no restart in a pod that is being deleted', () => {
    const metadata = {
      name: 'web',
      namespace: 'shop',
      uid: 'u-1',
      deletionTimestamp: '2030-01-01T00:00:00Z',
    };
    const facts = factsOf({ pod: podOf({}, { metadata }) });
    expect(forgottenContainerStatus(facts, APP, reported({ running: {} })).restartCount).toBe(2);
  });

  test('keeps the end of an earlier instance', () => {
    const lastState = { terminated: { exitCode: 4 } };
    const status = forgottenContainerStatus(factsOf(), APP, reported({ running: {} }, { lastState }));
    expect(status).toMatchObject({ lastState, restartCount: 2 });
  });
});

describe('a container without instance in a pod that has run, whose policy is Never and whose sandbox is gone', () => {
  const pod = podOf(
    { restartPolicy: 'Never', containers: [APP, { name: 'other' }] },
    {
      metadata: {
        name: 'web',
        namespace: 'shop',
        uid: 'u-1',
        annotations: { 'kubernetes.io/config.source': 'file' },
      },
    },
  );
  const podStatus = runtimePodStatus({
    sandboxes: [{ id: 's1', ready: false }],
    containers: [{ id: 'o1', name: 'other', state: 'exited' }],
  });
  const facts = factsOf({ pod, podStatus });

  test('has ended unseen, or as was reported', () => {
    expect(inferredEnd(facts, reported({ waiting: {} }))?.state).toMatchObject({
      terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' },
    });
    const ended = reported({ terminated: { exitCode: 0 } });
    expect(inferredEnd(facts, ended)).toEqual(ended);
  });

  test('waits where an init container before it has failed', () => {
    const [first, last] = [{ name: 'first' }, { name: 'last' }];
    const withInit = { ...pod, spec: { ...pod.spec, initContainers: [first, last] } };
    const after = (exitCode: number) => ({
      ...factsOf({ pod: withInit, podStatus }),
      podStatus: runtimePodStatus({
        sandboxes: [{ id: 's1', ready: false }],
        containers: [{ id: 'l1', name: 'last', state: 'exited', exitCode }],
      }),
    });
    const of = (name: string) => ({ ...reported({ waiting: {} }), name });
    expect(inferredEnd(after(3), of('app'))).toBeUndefined();
    expect(inferredEnd(after(3), of('first'))?.state?.terminated).toBeDefined();
    expect(inferredEnd(after(0), of('app'))?.state?.terminated).toBeDefined();
  });

  test('waits where the pod is one of the API server, or may go on', () => {
    const waiting = reported({ waiting: {} });
    expect(inferredEnd({ ...facts, pod: podOf(pod.spec) }, waiting)).toBeUndefined();
    const onFailure = { ...pod, spec: { ...pod.spec, restartPolicy: 'OnFailure' } };
    expect(inferredEnd({ ...facts, pod: onFailure }, waiting)).toBeUndefined();
    expect(
      inferredEnd(
        { ...facts, podStatus: runtimePodStatus({ sandboxes: [{ id: 's1', ready: false }] }) },
        waiting,
      ),
    ).toBeUndefined();
  });
});

describe('while all containers of the pod start over', () => {
  const facts = factsOf({ podRestarting: true });

  test('one that was removed waits with that reason, and counts a restart', () => {
    const message = 'The container is removed because RestartAllContainers in place';
    expect(forgottenContainerStatus(facts, APP, reported({ running: {} }))).toMatchObject({
      state: { waiting: { reason: 'RestartingAllContainers', message } },
      lastState: { terminated: { exitCode: 137, reason: 'RestartingAllContainers', message } },
      restartCount: 3,
    });
  });

  test('one that waited already has not been removed', () => {
    const status = forgottenContainerStatus(facts, APP, reported({ waiting: { reason: 'ErrImagePull' } }));
    expect(status).toMatchObject({ state: { waiting: { reason: 'ContainerCreating' } }, restartCount: 2 });
    expect(status.lastState).toBeUndefined();
  });
});

describe('an init container that the runtime does not hold', () => {
  const setup = { name: 'setup' };
  const waiting = reported({ waiting: {} });
  const withApp = (state: 'created' | 'unknown') =>
    factsOf({
      pod: podOf({ containers: [APP, { name: 'other' }], initContainers: [setup] }),
      podStatus: runtimePodStatus({ containers: [{ id: 'a1', name: 'app', state }] }),
    });

  test('has succeeded when a regular container has been created', () => {
    expect(inferredCompletion(withApp('created'), 'init', setup, waiting)?.state).toMatchObject({
      terminated: { exitCode: 0, reason: 'Completed' },
    });
  });

  test('has not when no regular container is known to exist', () => {
    expect(inferredCompletion(factsOf(), 'init', setup, waiting)).toBeUndefined();
    expect(inferredCompletion(withApp('unknown'), 'init', setup, waiting)).toBeUndefined();
  });

  test('is not judged when it is a sidecar, or does not wait', () => {
    const sidecar = { name: 'setup', restartPolicy: 'Always' };
    expect(inferredCompletion(withApp('created'), 'init', sidecar, waiting)).toBeUndefined();
    const ended = reported({ terminated: { exitCode: 1 } });
    expect(inferredCompletion(withApp('created'), 'init', setup, ended)).toBeUndefined();
  });

  test('is never inferred to have succeeded when it is a regular container', () => {
    expect(inferredCompletion(withApp('created'), 'regular', APP, waiting)).toBeUndefined();
  });
});
