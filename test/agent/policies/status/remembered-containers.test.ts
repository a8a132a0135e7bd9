import { describe, expect, test } from '@jest/globals';
import {
  hasProbedContainers,
  probedContainers,
  resultBeforeRestart,
  withRemembered,
} from '../../../../src/agent/policies/status/remembered-containers.ts';
import type { ContainerStatus, Pod, PodStatus } from '../../../../src/types/kubernetes.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../../src/types/runtime-pod.ts';
import { instance, podOf } from '../../../support/pod-status-facts.ts';
import { runtimePodStatus } from '../../../support/runtime-pod-status.ts';

const inRuntime = (id: string, more: Partial<RuntimeContainerStatus> = {}) =>
  ({ id, name: id, state: 'running', ...more }) as RuntimeContainerStatus;
const podStatus = (...containers: RuntimeContainerStatus[]) =>
  ({
    uid: 'uid',
    name: 'pod',
    namespace: 'default',
    sandboxes: [],
    containers,
    observedAt: 0,
  }) as RuntimePodStatus;

test('a container owes its hook while it runs, its agent remembers hooks, and none is remembered', () => {
  const status = podStatus(
    inRuntime('owes', { recordsHook: true }),
    inRuntime('done', { recordsHook: true }),
    inRuntime('ended', { recordsHook: true, state: 'exited' }),
    inRuntime('of the kubelet'),
  );
  const { containers } = withRemembered(status, (id) => (id === 'done' ? { hooked: true } : {}));
  expect(containers.filter(({ owesHook }) => owesHook).map(({ id }) => id)).toEqual(['owes']);
});

test('a container that was resized has what it was told last, while it runs', () => {
  const created = { container: { requests: { cpu: '1' } } };
  const told = { container: { requests: { cpu: '2' } } };
  const status = podStatus(
    inRuntime('resized', { given: created }),
    inRuntime('as created', { given: created }),
    inRuntime('ended', { given: created, state: 'exited' }),
  );
  const known = (id: string) => (id === 'as created' ? {} : { given: told });
  expect(withRemembered(status, known).containers.map(({ given }) => given)).toEqual([
    told,
    created,
    created,
  ]);
});

test('a pod without such a container is passed on as it is', () => {
  const status = podStatus(inRuntime('of the kubelet'));
  expect(withRemembered(status, () => undefined)).toBe(status);
});

const probe = { exec: { command: ['true'] } };
const pod = {
  metadata: { name: 'pod', namespace: 'default', uid: 'uid' },
  spec: {
    containers: [
      { name: 'ready', readinessProbe: probe },
      { name: 'live', livenessProbe: probe },
    ],
    initContainers: [{ name: 'side', restartPolicy: 'Always', startupProbe: probe }],
  },
} as unknown as Pod;

test('containers that run and have a startup or a readiness probe are remembered as their status says', () => {
  const shown = (name: string, more: object = {}) => ({
    name,
    containerID: `statelet://${name}-1`,
    ready: true,
    started: true,
    state: { running: {} },
    ...more,
  });
  const status = {
    containerStatuses: [shown('ready'), shown('live')],
    initContainerStatuses: [shown('side', { ready: false, started: false })],
  };
  expect(probedContainers(pod, status as never)).toEqual([
    { containerId: 'ready-1', known: { started: true, ready: true } },
    { containerId: 'side-1', known: { started: false, ready: false } },
  ]);
  const waiting = { containerStatuses: [shown('ready', { state: { waiting: {} } })] };
  expect(probedContainers(pod, waiting as never)).toEqual([]);
  expect(hasProbedContainers(pod)).toBe(true);
});

const AGENT_STARTED_AT = 100_000;

/** `ranFor`: in seconds, when the agent started. */
function before(ranFor: number, status: PodStatus, probe: 'startup' | 'readiness', id = 'app-1') {
  const app = instance('app', 'running', { startedAt: AGENT_STARTED_AT / 1000 - ranFor });
  const facts = {
    pod: podOf({}, { status }),
    podStatus: runtimePodStatus({ containers: [app] }),
    previous: status,
    agentStartedAt: AGENT_STARTED_AT,
  };
  return resultBeforeRestart(facts, probe, id);
}

const ready = (status: string): PodStatus => ({ conditions: [{ type: 'Ready', status }] });

describe('the readiness of a container that ran before the agent', () => {
  test('is kept where the API server shows the pod as ready', () => {
    expect(before(11, ready('True'), 'readiness')).toBe('Success');
    expect(before(11, ready('False'), 'readiness')).toBeUndefined();
    expect(before(11, {}, 'readiness')).toBeUndefined();
  });

  test('is not assumed where it ran for 10 s or less, or is another container', () => {
    expect(before(10, ready('True'), 'readiness')).toBeUndefined();
    expect(before(-5, ready('True'), 'readiness')).toBeUndefined();
    expect(before(11, ready('True'), 'readiness', 'app-2')).toBeUndefined();
  });
});

test('a container that has started stays started, and its successor begins anew', () => {
  const app: ContainerStatus = {
    name: 'app',
    image: '',
    imageID: '',
    containerID: 'containerd://app-1',
    ready: true,
    restartCount: 0,
    started: true,
  };
  expect(before(1, { containerStatuses: [app] }, 'startup')).toBe('Success');
  expect(before(1, { initContainerStatuses: [app] }, 'startup')).toBe('Success');
  expect(before(1, { containerStatuses: [app] }, 'startup', 'app-2')).toBeUndefined();
  expect(before(1, { containerStatuses: [{ ...app, started: false }] }, 'startup')).toBeUndefined();
});
