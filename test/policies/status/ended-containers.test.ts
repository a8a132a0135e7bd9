import { describe, expect, test } from '@jest/globals';
import { endedContainerStatuses } from '../../../src/policies/status/ended-containers.ts';
import type { ContainerStatus, Pod } from '../../../src/types/kubernetes.ts';
import { podOf } from '../../support/pod-status-facts.ts';

const RUNNING = { running: {} };
const WAITING = { waiting: {} };
const SUCCEEDED = { terminated: { exitCode: 0 } };
const LOST = {
  terminated: {
    exitCode: 137,
    reason: 'ContainerStatusUnknown',
    message: 'The container could not be located when the pod was terminated',
  },
};

function status(
  name: string,
  state: ContainerStatus['state'],
  more: Partial<ContainerStatus> = {},
): ContainerStatus {
  return {
    name,
    image: '',
    imageID: '',
    ready: true,
    started: true,
    restartCount: 0,
    ...(state && { state }),
    ...more,
  };
}

/** The state of each container by its name. */
function states(pod: Pod, init: ContainerStatus[], regular: ContainerStatus[]) {
  const { initContainerStatuses, containerStatuses } = endedContainerStatuses(pod, {
    initContainerStatuses: init,
    containerStatuses: regular,
    ephemeralContainerStatuses: [],
  });
  const all = [...initContainerStatuses, ...containerStatuses];
  return Object.fromEntries(all.map(({ name, state }) => [name, state]));
}

describe('containers of a terminated pod', () => {
  test('that the runtime shows as running or waiting have been killed', () => {
    const pod = podOf({ containers: [{ name: 'app' }, { name: 'web' }] });
    expect(states(pod, [], [status('app', RUNNING), status('web', WAITING)])).toEqual({
      app: LOST,
      web: LOST,
    });
  });

  test('that have ended keep their end', () => {
    expect(states(podOf(), [], [status('app', SUCCEEDED)])).toEqual({ app: SUCCEEDED });
  });

  test('are neither ready nor started', () => {
    const { containerStatuses } = endedContainerStatuses(podOf(), {
      initContainerStatuses: [],
      containerStatuses: [status('app', RUNNING)],
      ephemeralContainerStatuses: [],
    });
    expect(containerStatuses[0]).toMatchObject({ ready: false, started: false });
  });
});

describe('init containers of a terminated pod', () => {
  const pod = podOf({ initContainers: [{ name: 'one' }, { name: 'two' }, { name: 'three' }] });
  const app = status('app', WAITING);

  test('the first has been started in any case', () => {
    const init = ['one', 'two', 'three'].map((name) => status(name, WAITING));
    expect(states(pod, init, [app])).toEqual({ one: LOST, two: WAITING, three: WAITING, app: WAITING });
  });

  test('all up to the last that has run have ended, later ones still wait', () => {
    const init = [status('one', WAITING), status('two', RUNNING), status('three', WAITING)];
    expect(states(pod, init, [app])).toEqual({ one: LOST, two: LOST, three: WAITING, app: WAITING });
  });

  test('one that waits to run again has run', () => {
    const init = [
      status('one', SUCCEEDED),
      status('two', WAITING, { lastState: { terminated: { exitCode: 1 } } }),
    ];
    expect(states(pod, init, [app])).toMatchObject({ two: LOST });
  });
});

describe('regular containers of a terminated pod with init containers', () => {
  const app = status('app', WAITING);

  test('have ended when the last init container has succeeded', () => {
    const pod = podOf({ initContainers: [{ name: 'setup' }] });
    expect(states(pod, [status('setup', SUCCEEDED)], [app])).toMatchObject({ app: LOST });
    const failed = status('setup', { terminated: { exitCode: 1 } });
    expect(states(pod, [failed], [app])).toMatchObject({ app: WAITING });
  });

  test('have ended when the last init container is a sidecar that had started', () => {
    const pod = podOf({ initContainers: [{ name: 'proxy', restartPolicy: 'Always' }] });
    expect(states(pod, [status('proxy', RUNNING, { started: true })], [app])).toMatchObject({ app: LOST });
    expect(states(pod, [status('proxy', RUNNING, { started: false })], [app])).toMatchObject({
      app: WAITING,
    });
  });

  test('have all ended when any of them has run', () => {
    const pod = podOf({
      containers: [{ name: 'app' }, { name: 'web' }],
      initContainers: [{ name: 'setup' }],
    });
    const ran = status('web', WAITING, { lastState: { terminated: { exitCode: 1 } } });
    expect(states(pod, [status('setup', WAITING)], [app, ran])).toMatchObject({ app: LOST, web: LOST });
  });
});
