/** Cases that the vectors cover too little: the former status counts for instances that the runtime has forgotten. */
import { describe, expect, test } from '@jest/globals';
import type { ContainerFacts } from '../../../../src/agent/policies/status/container-state.ts';
import {
  apiContainerStatuses,
  type ProbeResults,
  withReadiness,
} from '../../../../src/agent/policies/status/container-statuses.ts';
import { generateAPIPodStatus } from '../../../../src/agent/policies/status/pod-status.ts';
import type { ProbeResult } from '../../../../src/agent/policies/probes/probe.ts';
import type { Container, ContainerStatus, Pod, PodStatus } from '../../../../src/types/kubernetes.ts';
import { containerOf, factsOf, instance, podOf, SANDBOX } from '../../../support/pod-status-facts.ts';
import { type PartialContainer, runtimePodStatus } from '../../../support/runtime-pod-status.ts';
import { testVectors } from '../../../support/test-vectors.ts';

testVectors('containerStatuses');

const ENDED_BEFORE = {
  exitCode: 0,
  reason: 'Completed',
  containerID: 'process://init-0',
  startedAt: '2030-01-01T00:00:00Z',
  finishedAt: '2030-01-01T00:00:09Z',
};

function oldStatus(name: string, more: Partial<ContainerStatus>): ContainerStatus {
  return { name, image: `${name}:0`, imageID: 'sha256:0', ready: false, restartCount: 2, ...more };
}

function statusesOf(
  containers: readonly PartialContainer[],
  old: PodStatus,
  more: Partial<ContainerFacts> = {},
) {
  const pod = podOf({ initContainers: [{ name: 'init', image: 'init:1' }] });
  const facts: ContainerFacts = {
    pod,
    podStatus: runtimePodStatus({ containers }),
    startFailures: new Map(),
    podRestarting: false,
    runtimeName: 'process',
    ...more,
  };
  const { containerStatuses, initContainerStatuses } = apiContainerStatuses(facts, old);
  return { app: containerStatuses[0], init: initContainerStatuses[0] };
}

describe('an init container that the runtime has forgotten, in a pod whose containers have been created', () => {
  const app = instance('app', 'running');

  test('keeps its whole status if its end was reported', () => {
    const old = oldStatus('init', {
      containerID: 'process://init-0',
      ready: true,
      state: { terminated: ENDED_BEFORE },
      lastState: { terminated: { exitCode: 3 } },
    });
    expect(statusesOf([app], { initContainerStatuses: [old] }).init).toStrictEqual(old);
  });

  test('keeps a failure that was reported', () => {
    const failed = { exitCode: 4, reason: 'Error', containerID: 'process://init-0' };
    const old = oldStatus('init', { containerID: 'process://init-0', state: { terminated: failed } });
    expect(statusesOf([app], { initContainerStatuses: [old] }).init).toStrictEqual(old);
  });

  test.each([
    ['nothing was reported', undefined],
    ['it was reported as waiting', oldStatus('init', { state: { waiting: { reason: 'PodInitializing' } } })],
    ['it was reported as running', oldStatus('init', { state: { running: {} } })],
  ])('has succeeded where %s', (_, old) => {
    const { init } = statusesOf([app], { initContainerStatuses: old ? [old] : [] });
    expect(init?.state?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
    expect(init?.containerID).toBeUndefined();
  });

  test('shows a start failure only if its end was reported', () => {
    const startFailures = new Map([['init', { reason: 'ErrImagePull', message: 'why' }]]);
    const ended = oldStatus('init', { state: { terminated: ENDED_BEFORE } });
    const { init } = statusesOf([app], { initContainerStatuses: [ended] }, { startFailures });
    expect(init).toMatchObject({
      state: { waiting: { reason: 'ErrImagePull', message: 'why' } },
      lastState: { terminated: ENDED_BEFORE },
    });
    const inferred = statusesOf([app], {}, { startFailures }).init;
    expect(inferred?.state?.terminated?.reason).toBe('Completed');
  });
});

describe('while all containers are restarted in place', () => {
  const podRestarting = true;
  const running = oldStatus('app', { state: { running: {} }, containerID: 'process://app-1' });

  test('a container that ran and whose state is unknown has ended for that reason', () => {
    const { app } = statusesOf(
      [instance('app', 'unknown', { restartCount: 2 })],
      { containerStatuses: [running] },
      { podRestarting },
    );
    expect(app).toMatchObject({
      containerID: 'process://app-1',
      restartCount: 3,
      state: {
        terminated: {
          exitCode: 137,
          reason: 'RestartingAllContainers',
          message: 'The container could not be located when the pod was terminated',
        },
      },
    });
  });

  test('the instance before the newest has ended for that reason too', () => {
    const { app } = statusesOf(
      [
        instance('app', 'exited', { id: 'app-2', createdAt: 9, restartCount: 3, exitCode: 1 }),
        instance('app', 'unknown', { restartCount: 2 }),
      ],
      { containerStatuses: [running] },
      { podRestarting },
    );
    expect(app?.lastState?.terminated).toMatchObject({ exitCode: 137, reason: 'RestartingAllContainers' });
  });

  test('otherwise such a container has ended with an unknown status', () => {
    const { app } = statusesOf([instance('app', 'unknown')], { containerStatuses: [running] });
    expect(app?.state?.terminated).toMatchObject({ exitCode: 137, reason: 'ContainerStatusUnknown' });
  });

  test('a container that was only waiting counts no restart', () => {
    const waiting = oldStatus('app', {
      state: { waiting: { reason: 'CrashLoopBackOff' } },
      lastState: { terminated: { exitCode: 3 } },
    });
    const { app } = statusesOf([], { containerStatuses: [waiting] }, { podRestarting });
    expect(app).toStrictEqual({
      name: 'app',
      image: 'app:1',
      imageID: '',
      ready: false,
      restartCount: 2,
      state: { waiting: { reason: 'PodInitializing' } },
      lastState: { terminated: { exitCode: 3 } },
    });
  });

  test('a container whose restart was reported counts no second restart', () => {
    const first = statusesOf([], { containerStatuses: [running] }, { podRestarting }).app;
    expect(first).toMatchObject({
      restartCount: 3,
      state: { waiting: { reason: 'RestartingAllContainers' } },
    });
    const again = statusesOf([], { containerStatuses: first ? [first] : [] }, { podRestarting }).app;
    expect(again?.restartCount).toBe(3);
    expect(again?.lastState?.terminated?.reason).toBe('RestartingAllContainers');
  });

  test('a container that had ended waits, and keeps what was reported about its instance', () => {
    const ended = oldStatus('app', {
      containerID: 'process://app-0',
      state: { terminated: { exitCode: 42, containerID: 'process://app-0' } },
    });
    const { app } = statusesOf([], { containerStatuses: [ended] }, { podRestarting });
    expect(app).toMatchObject({
      containerID: 'process://app-0',
      image: 'app:0',
      restartCount: 3,
      state: { waiting: { reason: 'RestartingAllContainers' } },
      lastState: { terminated: { exitCode: 137, reason: 'RestartingAllContainers' } },
    });
    expect(app?.state?.terminated).toBeUndefined();
  });
});

describe('a container that the runtime has forgotten and that was', () => {
  test('running counts a restart, unless its pod is being deleted', () => {
    const old = { containerStatuses: [oldStatus('app', { state: { running: {} } })] };
    const { app } = statusesOf([], old);
    expect(app).toMatchObject({
      restartCount: 3,
      state: { waiting: { reason: 'PodInitializing' } },
      lastState: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } },
    });
    const base = podOf({ initContainers: [{ name: 'init', image: 'init:1' }] });
    const deletionTimestamp = '2030-01-01T00:00:00Z';
    const pod = { ...base, metadata: { ...base.metadata, deletionTimestamp } };
    expect(statusesOf([], old, { pod }).app?.restartCount).toBe(2);
  });

  test('running, after an end that was reported, keeps that end', () => {
    const old = oldStatus('app', { state: { running: {} }, lastState: { terminated: { exitCode: 3 } } });
    const { app } = statusesOf([], { containerStatuses: [old] });
    expect(app?.lastState?.terminated).toStrictEqual({ exitCode: 3 });
    expect(app?.restartCount).toBe(2);
  });
});

const RUNNING = { running: {} };

const PROBE = { exec: { command: ['true'] } };

function status(name: string, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return {
    name,
    image: '',
    imageID: '',
    containerID: `process://${name}-1`,
    ready: false,
    restartCount: 0,
    ...more,
  };
}

/** `started` and `ready` of the regular container `app`. */
function mark(probes: Partial<Container>, state: ContainerStatus['state'], results?: ProbeResults) {
  const pod = podOf({ containers: [{ name: 'app', ...probes }] });
  const statuses = {
    containerStatuses: [status('app', { state })],
    initContainerStatuses: [],
    ephemeralContainerStatuses: [],
  };
  const [app] = withReadiness(pod, statuses, results).containerStatuses;
  return [app?.started, app?.ready];
}

/** Of the instance `app-1` only. */
const resultsOf =
  (results: { startup?: ProbeResult; readiness?: ProbeResult }): ProbeResults =>
  (probe, id) =>
    id === 'app-1' ? results[probe] : undefined;

describe('started and ready of a container', () => {
  test('that runs and has no probes: both', () => {
    expect(mark({}, RUNNING)).toEqual([true, true]);
  });

  test.each([{ waiting: {} }, { terminated: { exitCode: 0 } }, undefined])(
    'that does not run (%j): neither',
    (state) => {
      expect(mark({}, state)).toEqual([false, false]);
    },
  );

  test.each([undefined, 'UNKNOWN', 'Failure'] as const)('whose startup probe says %s: neither', (startup) => {
    expect(mark({ startupProbe: PROBE }, RUNNING, resultsOf({ startup }))).toEqual([false, false]);
  });

  test.each([undefined, 'UNKNOWN', 'Failure'] as const)(
    'whose readiness probe says %s: started alone',
    (readiness) => {
      expect(mark({ readinessProbe: PROBE }, RUNNING, resultsOf({ readiness }))).toEqual([true, false]);
    },
  );

  test('whose probes succeed: both', () => {
    const probes = { startupProbe: PROBE, readinessProbe: PROBE };
    const results = resultsOf({ startup: 'Success', readiness: 'Success' });
    expect(mark(probes, RUNNING, results)).toEqual([true, true]);
  });
});

describe('started and ready of init containers', () => {
  const pod = podOf({ initContainers: [{ name: 'setup' }, { name: 'proxy', restartPolicy: 'Always' }] });
  const initStatuses = (...initContainerStatuses: ContainerStatus[]) =>
    withReadiness(pod, { containerStatuses: [], initContainerStatuses, ephemeralContainerStatuses: [] })
      .initContainerStatuses;

  test('an init container is ready when it has succeeded, and only then', () => {
    const states = [RUNNING, { terminated: { exitCode: 1 } }, { terminated: { exitCode: 0 } }];
    const ready = states.map((state) => initStatuses(status('setup', { state }))[0]?.ready);
    expect(ready).toEqual([false, false, true]);
  });

  test('a sidecar is ready as a regular container is', () => {
    expect(initStatuses(status('proxy', { state: RUNNING }))[0]).toMatchObject({
      started: true,
      ready: true,
    });
    const ended = status('proxy', { state: { terminated: { exitCode: 0 } } });
    expect(initStatuses(ended)[0]).toMatchObject({ started: false, ready: false });
  });
});

test('ephemeral containers, and containers that are not in the spec, are left as they are', () => {
  const ephemeralContainerStatuses = [status('debug', { state: RUNNING })];
  const containerStatuses = [status('other', { state: RUNNING })];
  const statuses = { containerStatuses, initContainerStatuses: [], ephemeralContainerStatuses };
  expect(withReadiness(podOf(), statuses)).toEqual(statuses);
});

const USER = { uid: 1000, gid: 3000, supplementalGroups: [5, 6, 3000] };

function statusOf(container: Partial<Container>, more: object = {}, spec: Partial<Pod['spec']> = {}) {
  const pod = podOf({ containers: [{ name: 'app', image: 'app:1', ...container }], ...spec });
  const containers = [instance('app', 'running', more), instance('first', 'exited', more)];
  return generateAPIPodStatus(factsOf(pod, { sandboxes: [SANDBOX], containers }));
}

describe('the status of a container', () => {
  test('has the user that the runtime reports, for containers of all kinds', () => {
    const others = {
      initContainers: [{ name: 'first', image: 'i' }],
      ephemeralContainers: [{ name: 'debug', image: 'd' }],
    };
    const pod = podOf(others);
    const containers = [
      instance('app', 'running', { user: USER }),
      instance('first', 'exited', { user: USER }),
      instance('debug', 'running', { user: USER }),
    ];
    const status = generateAPIPodStatus(factsOf(pod, { sandboxes: [SANDBOX], containers }));
    const all = [
      ...(status.containerStatuses ?? []),
      ...(status.initContainerStatuses ?? []),
      ...(status.ephemeralContainerStatuses ?? []),
    ];
    expect(all.map(({ name, user }) => [name, user])).toEqual([
      ['app', { linux: USER }],
      ['first', { linux: USER }],
      ['debug', { linux: USER }],
    ]);
  });

  test('has no user if the runtime reports none', () => {
    expect(containerOf(statusOf({}), 'app')).not.toHaveProperty('user');
  });

  test('has the resources of the spec, and as allocated ones its requests', () => {
    const resources = { requests: { cpu: '100m' }, limits: { cpu: '200m', memory: '64Mi' } };
    expect(containerOf(statusOf({ resources }), 'app')).toMatchObject({
      resources,
      allocatedResources: { cpu: '100m' },
    });
    const plain = containerOf(statusOf({}), 'app');
    expect(plain?.resources).toEqual({});
    expect(plain).not.toHaveProperty('allocatedResources');
  });

  test('has no resources before the container has been created, but always its mounts', () => {
    const volumeMounts = [{ name: 'v', mountPath: '/v' }];
    const pod = podOf({ containers: [{ name: 'app', image: 'app:1', resources: {}, volumeMounts }] });
    const status = containerOf(generateAPIPodStatus(factsOf(pod, {})), 'app');
    expect(status).not.toHaveProperty('resources');
    expect(status?.volumeMounts).toEqual([{ name: 'v', mountPath: '/v' }]);
  });

  test('says of read-only mounts whether mounts below them are read-only too', () => {
    const volumeMounts = [
      { name: 'a', mountPath: '/a', subPath: 'x', mountPropagation: 'None' },
      { name: 'b', mountPath: '/b', readOnly: true, recursiveReadOnly: 'IfPossible' },
      { name: 'c', mountPath: 'c', readOnly: true, recursiveReadOnly: 'Enabled' },
    ];
    const status = containerOf(statusOf({ volumeMounts }, { recursiveReadOnlyMounts: ['/c'] }), 'app');
    expect(status?.volumeMounts).toEqual([
      { name: 'a', mountPath: '/a' },
      { name: 'b', mountPath: '/b', readOnly: true, recursiveReadOnly: 'Disabled' },
      { name: 'c', mountPath: 'c', readOnly: true, recursiveReadOnly: 'Enabled' },
    ]);
  });
});
