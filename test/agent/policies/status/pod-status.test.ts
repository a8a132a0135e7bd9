import { describe, expect, test } from '@jest/globals';
import {
  generateAPIPodStatus,
  hasRunToItsEnd,
  podAddresses,
  type PodStatusFacts,
} from '../../../../src/agent/policies/status/pod-status.ts';
import type { Container, PodSpec, PodStatus } from '../../../../src/types/kubernetes.ts';
import {
  BEFORE,
  conditionOf,
  containerOf,
  EVICTED,
  factsOf,
  instance,
  NOW,
  podOf,
  SANDBOX,
} from '../../../support/pod-status-facts.ts';
import { testPod } from '../../../support/pods.ts';
import { type PartialSandbox, runtimePodStatus } from '../../../support/runtime-pod-status.ts';

describe('generateAPIPodStatus', () => {
  test('the whole status of a running pod', () => {
    const pod = podOf();
    const facts = factsOf(pod, { sandboxes: [SANDBOX], containers: [instance('app', 'running')] });
    const at = { lastTransitionTime: NOW };
    expect(generateAPIPodStatus(facts)).toStrictEqual({
      phase: 'Running',
      conditions: [
        { type: 'PodReadyToStartContainers', status: 'True', ...at },
        { type: 'Initialized', status: 'True', ...at },
        { type: 'Ready', status: 'True', ...at },
        { type: 'ContainersReady', status: 'True', ...at },
        { type: 'PodScheduled', status: 'True', ...at },
      ],
      hostIP: '192.168.0.2',
      hostIPs: [{ ip: '192.168.0.2' }],
      podIP: '10.1.0.7',
      podIPs: [{ ip: '10.1.0.7' }],
      startTime: NOW,
      qosClass: 'BestEffort',
      resources: {},
      containerStatuses: [
        {
          name: 'app',
          image: '',
          imageID: '',
          containerID: 'process://app-1',
          ready: true,
          started: true,
          restartCount: 0,
          state: { running: { startedAt: '1970-01-01T00:00:02Z' } },
          resources: {},
        },
      ],
    });
  });

  test('a pod of which the runtime holds nothing is Pending, and its containers wait', () => {
    const status = generateAPIPodStatus(factsOf(podOf(), {}));
    expect(status.phase).toBe('Pending');
    expect(containerOf(status, 'app')?.state).toEqual({ waiting: { reason: 'ContainerCreating' } });
    expect(conditionOf(status, 'PodReadyToStartContainers')?.status).toBe('False');
    expect(conditionOf(status, 'Ready')?.status).toBe('False');
    expect(hasRunToItsEnd(status)).toBe(false);
  });

  test('startTime is kept, and lastTransitionTime is if the condition is unchanged', () => {
    const pod = podOf();
    const waiting = generateAPIPodStatus(factsOf(pod, { sandboxes: [SANDBOX] }, { now: BEFORE }));
    const status = generateAPIPodStatus(
      factsOf(pod, { sandboxes: [SANDBOX], containers: [instance('app', 'running')] }, { previous: waiting }),
    );
    expect(status.startTime).toBe(BEFORE);
    expect(conditionOf(status, 'PodScheduled')?.lastTransitionTime).toBe(BEFORE);
    expect(conditionOf(status, 'Ready')).toMatchObject({ status: 'True', lastTransitionTime: NOW });
  });

  test("without a reported status, the one in the pod's object counts", () => {
    const reported = generateAPIPodStatus(factsOf(podOf(), {}, { now: BEFORE }));
    const status = generateAPIPodStatus(factsOf(podOf({}, { status: reported }), {}));
    expect(status.startTime).toBe(BEFORE);
    expect(conditionOf(status, 'Ready')?.lastTransitionTime).toBe(BEFORE);
  });

  test('the generation of the pod is in the status and in every condition', () => {
    const pod = podOf();
    const facts = factsOf({ ...pod, metadata: { ...pod.metadata, generation: 3 } }, {});
    const status = generateAPIPodStatus(facts);
    expect(status.observedGeneration).toBe(3);
    expect(new Set(status.conditions?.map(({ observedGeneration }) => observedGeneration))).toEqual(
      new Set([3]),
    );
  });

  test('conditions of others are kept, those of the kubelet are computed', () => {
    const conditions = [
      { type: 'example.com/gate', status: 'True', lastTransitionTime: BEFORE },
      { type: 'Ready', status: 'False', reason: 'Stale' },
    ];
    const pod = podOf(
      { readinessGates: [{ conditionType: 'example.com/gate' }] },
      { status: { conditions } },
    );
    const status = generateAPIPodStatus(
      factsOf(pod, { sandboxes: [SANDBOX], containers: [instance('app', 'running')] }),
    );
    expect(conditionOf(status, 'example.com/gate')).toEqual(conditions[0]);
    expect(status.conditions?.filter(({ type }) => type === 'Ready')).toMatchObject([{ status: 'True' }]);
  });

  test('a pod on the host network has the host’s address', () => {
    const pod = podOf({ hostNetwork: true });
    const sandboxes = [{ id: 's1', networkMode: 'NODE' }];
    const status = generateAPIPodStatus(factsOf(pod, { sandboxes }));
    expect(status.podIP).toBe('192.168.0.2');
    expect(conditionOf(status, 'PodReadyToStartContainers')?.status).toBe('True');
  });

  test('a pod without a sandbox keeps its address', () => {
    const previous = generateAPIPodStatus(factsOf(podOf(), { sandboxes: [SANDBOX] }));
    const stopped = { ...SANDBOX, ready: false, ip: null };
    const status = generateAPIPodStatus(factsOf(podOf(), { sandboxes: [stopped] }, { previous }));
    expect(status.podIP).toBe('10.1.0.7');
    const next = { id: 's2', ip: '10.1.0.8' };
    expect(generateAPIPodStatus(factsOf(podOf(), { sandboxes: [next, stopped] }, { previous })).podIP).toBe(
      '10.1.0.8',
    );
  });

  test('a pod that is not restarted ends by itself', () => {
    const pod = podOf({ restartPolicy: 'Never' });
    const ended = (exitCode: number) =>
      generateAPIPodStatus(
        factsOf(pod, { sandboxes: [SANDBOX], containers: [instance('app', 'exited', { exitCode })] }),
      );
    expect(ended(0).phase).toBe('Succeeded');
    expect(conditionOf(ended(0), 'Ready')).toMatchObject({ status: 'False', reason: 'PodCompleted' });
    expect(ended(1).phase).toBe('Failed');
    expect(conditionOf(ended(1), 'ContainersReady')).toMatchObject({ status: 'False', reason: 'PodFailed' });
    expect([ended(0), ended(1)].map(hasRunToItsEnd)).toEqual([true, true]);
  });

  test('a terminal phase that was reported never changes, nor does its reason', () => {
    const running = { sandboxes: [SANDBOX], containers: [instance('app', 'running')] };
    const previous: PodStatus = { phase: 'Failed', reason: 'Evicted', message: 'why' };
    const expected = { phase: 'Failed', reason: 'Evicted', message: 'why' };
    expect(generateAPIPodStatus(factsOf(podOf(), running, { previous }))).toMatchObject(expected);
    const known = podOf({}, { status: previous });
    expect(generateAPIPodStatus(factsOf(known, running, { previous: { phase: 'Running' } }))).toMatchObject(
      expected,
    );
  });

  test('a reason is kept as long as its phase', () => {
    const pod = podOf({ restartPolicy: 'Never' });
    const previous: PodStatus = { phase: 'Pending', reason: 'Odd', message: 'why' };
    const status = generateAPIPodStatus(
      factsOf(pod, { sandboxes: [SANDBOX], containers: [instance('app', 'running')] }, { previous }),
    );
    expect(status).not.toHaveProperty('reason');
    expect(status).not.toHaveProperty('message');
  });

  describe('override (lifecycle 5)', () => {
    const runtime = { sandboxes: [SANDBOX], containers: [instance('app', 'running')] };

    test('the phase of a kill counts before that of the containers', () => {
      const status = generateAPIPodStatus(factsOf(podOf(), runtime, { override: EVICTED }));
      expect(status).toMatchObject({ phase: 'Failed', reason: EVICTED.reason, message: EVICTED.message });
      expect(conditionOf(status, 'DisruptionTarget')).toMatchObject({
        status: 'True',
        lastTransitionTime: NOW,
      });
      expect(conditionOf(status, 'Ready')).toMatchObject({ status: 'False', reason: 'PodFailed' });
    });

    test('of two kills the last one counts: a preemption becomes an eviction', () => {
      const preempted = generateAPIPodStatus(
        factsOf(podOf(), runtime, { override: { phase: 'Failed', reason: 'Preempting', message: 'room' } }),
      );
      const status = generateAPIPodStatus(
        factsOf(podOf(), runtime, { previous: preempted, override: EVICTED }),
      );
      expect(status.reason).toBe('Evicted');
    });

    test('it stays Failed when the containers then succeed, and keeps the time of the disruption', () => {
      const pod = podOf({ restartPolicy: 'Never' });
      const previous = generateAPIPodStatus(factsOf(pod, runtime, { override: EVICTED, now: BEFORE }));
      const ended = { sandboxes: [SANDBOX], containers: [instance('app', 'exited')] };
      const status = generateAPIPodStatus(factsOf(pod, ended, { previous, override: EVICTED }));
      expect(status).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
      expect(conditionOf(status, 'DisruptionTarget')?.lastTransitionTime).toBe(BEFORE);
    });

    test('a pod that had succeeded before the kill stays Succeeded', () => {
      const pod = podOf({ restartPolicy: 'Never' });
      const ended = { sandboxes: [SANDBOX], containers: [instance('app', 'exited')] };
      const previous = generateAPIPodStatus(factsOf(pod, ended));
      const status = generateAPIPodStatus(factsOf(pod, ended, { previous, override: EVICTED }));
      expect(status.phase).toBe('Succeeded');
      expect(status).not.toHaveProperty('reason');
      expect(conditionOf(status, 'DisruptionTarget')).toBeUndefined();
    });
  });

  describe('ready and started', () => {
    const probe = { exec: { command: ['true'] } };
    const running = { sandboxes: [SANDBOX], containers: [instance('app', 'running')] };
    const probed = (container: Partial<Container>) => podOf({ containers: [{ name: 'app', ...container }] });

    test('a readiness probe without a result: started, not ready', () => {
      const status = generateAPIPodStatus(factsOf(probed({ readinessProbe: probe }), running));
      expect(containerOf(status, 'app')).toMatchObject({ started: true, ready: false });
      expect(conditionOf(status, 'Ready')?.message).toBe('containers with unready status: [app]');
    });

    test('a startup probe without a result: neither', () => {
      const status = generateAPIPodStatus(factsOf(probed({ startupProbe: probe }), running));
      expect(containerOf(status, 'app')).toMatchObject({ started: false, ready: false });
    });

    test.each([
      ['Success', true],
      ['Failure', false],
      ['UNKNOWN', false],
    ] as const)('results are found by the id of the runtime: %s', (result, ready) => {
      const pod = probed({ readinessProbe: probe, startupProbe: probe });
      const probeResults: PodStatusFacts['probeResults'] = (kind, id) =>
        id === 'app-1' ? (kind === 'startup' ? 'Success' : result) : undefined;
      const status = generateAPIPodStatus(factsOf(pod, running, { probeResults }));
      expect(containerOf(status, 'app')).toMatchObject({ started: true, ready });
    });

    test('a sidecar without probes has started when it runs, so that the pod is initialized', () => {
      const pod = podOf({ initContainers: [{ name: 'side', restartPolicy: 'Always' }] });
      const status = generateAPIPodStatus(
        factsOf(pod, { sandboxes: [SANDBOX], containers: [instance('side', 'running')] }),
      );
      expect(containerOf(status, 'side')).toMatchObject({ started: true, ready: true });
      expect(conditionOf(status, 'Initialized')?.status).toBe('True');
    });

    test('an init container is ready when it has succeeded', () => {
      const pod = podOf({ initContainers: [{ name: 'init' }] });
      const after = (state: 'running' | 'exited', exitCode = 0) =>
        generateAPIPodStatus(
          factsOf(pod, { sandboxes: [SANDBOX], containers: [instance('init', state, { exitCode })] }),
        );
      expect(containerOf(after('running'), 'init')).toMatchObject({ started: true, ready: false });
      expect(containerOf(after('exited'), 'init')).toMatchObject({ started: false, ready: true });
      expect(containerOf(after('exited', 1), 'init')).toMatchObject({ started: false, ready: false });
    });
  });

  test('a pod whose containers have run in this sandbox is not Pending while a sidecar starts again', () => {
    const pod = podOf({ initContainers: [{ name: 'side', restartPolicy: 'Always', startupProbe: {} }] });
    const phaseWith = (podSandboxId: string) =>
      generateAPIPodStatus(
        factsOf(pod, {
          sandboxes: [SANDBOX],
          containers: [instance('side', 'running'), instance('app', 'running', { podSandboxId })],
        }),
      ).phase;
    expect(phaseWith('s1')).toBe('Running');
    expect(phaseWith('s0')).toBe('Pending');
  });

  test('an instance that was created late and never started does not hide the one that runs', () => {
    const containers = [
      instance('app', 'running', { createdAt: 5, restartCount: 1 }),
      instance('app', 'exited', { id: 'app-0', exitCode: 3 }),
      instance('app', 'created', { id: 'app-2', createdAt: 9, restartCount: 2 }),
    ];
    const status = generateAPIPodStatus(factsOf(podOf(), { sandboxes: [SANDBOX], containers }));
    expect(containerOf(status, 'app')).toMatchObject({
      containerID: 'process://app-1',
      restartCount: 1,
      ready: true,
      state: { running: {} },
      lastState: { terminated: { exitCode: 3 } },
    });
    expect(status.phase).toBe('Running');
  });

  test('ephemeral containers have their own statuses and do not affect the phase', () => {
    const pod = podOf({ ephemeralContainers: [{ name: 'debug', image: 'tools' }] });
    const status = generateAPIPodStatus(
      factsOf(pod, {
        sandboxes: [SANDBOX],
        containers: [instance('app', 'running'), instance('debug', 'exited', { exitCode: 3 })],
      }),
    );
    expect(status.phase).toBe('Running');
    expect(status.ephemeralContainerStatuses).toMatchObject([
      { name: 'debug', ready: false, state: { terminated: { exitCode: 3 } } },
    ]);
  });

  test('a container that could not be started waits, with the reason of the failure', () => {
    const startFailures = new Map([['app', { reason: 'CrashLoopBackOff', message: 'back-off 10s' }]]);
    const status = generateAPIPodStatus(
      factsOf(
        podOf(),
        { sandboxes: [SANDBOX], containers: [instance('app', 'exited', { exitCode: 1, finishedAt: 3 })] },
        { startFailures },
      ),
    );
    expect(status.phase).toBe('Running');
    expect(containerOf(status, 'app')).toMatchObject({
      state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } },
      lastState: { terminated: { exitCode: 1 } },
    });
  });

  describe('all containers restart', () => {
    const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } };
    const pod = podOf({
      containers: [{ name: 'app' }, { name: 'trigger', restartPolicy: 'Never', restartPolicyRules: [rule] }],
      restartPolicy: 'Never',
    });
    const trigger = instance('trigger', 'exited', { exitCode: 42 });
    const started = generateAPIPodStatus(
      factsOf(pod, { sandboxes: [SANDBOX], containers: [instance('app', 'running'), trigger] }),
    );

    test('the condition is True from the exit that asks for it until the last container has been removed', () => {
      expect(conditionOf(started, 'AllContainersRestarting')).toMatchObject({
        status: 'True',
        reason: 'RestartAllContainersStarted',
      });
      const gone = generateAPIPodStatus(factsOf(pod, { sandboxes: [SANDBOX] }, { previous: started }));
      expect(conditionOf(gone, 'AllContainersRestarting')?.status).toBe('False');
    });

    test('only pods with such a rule have the condition', () => {
      expect(
        conditionOf(generateAPIPodStatus(factsOf(podOf(), {})), 'AllContainersRestarting'),
      ).toBeUndefined();
    });

    test('a removed container counts one restart, however often the status is computed', () => {
      const runtime = { sandboxes: [SANDBOX], containers: [trigger] };
      const once = generateAPIPodStatus(factsOf(pod, runtime, { previous: started }));
      const twice = generateAPIPodStatus(factsOf(pod, runtime, { previous: once }));
      expect(containerOf(once, 'app')).toMatchObject({ restartCount: 1, state: { waiting: {} } });
      const { restartCount, lastState } = containerOf(once, 'app')!;
      expect(lastState?.terminated?.reason).toBe('RestartingAllContainers');
      expect(containerOf(twice, 'app')).toMatchObject({ restartCount, lastState, state: { waiting: {} } });
    });
  });
});

const V4_NODE = ['192.0.2.1', '2001:db8::1'];

const V6_NODE = ['2001:db8::1', '192.0.2.1'];

function podIPs(
  sandboxes: PartialSandbox[],
  hostIPs = V4_NODE,
  hostNetwork = false,
  previous: PodStatus | undefined = { podIPs: [{ ip: '10.0.0.9' }] },
): readonly string[] {
  const base = testPod();
  const pod = { ...base, spec: { ...base.spec, hostNetwork } };
  const found = podAddresses(pod, runtimePodStatus({ sandboxes }), previous, hostIPs);
  expect(found.podIP).toBe(found.podIPs?.[0]?.ip);
  return (found.podIPs ?? []).map(({ ip }) => ip);
}

const sandbox = (...ips: string[]): PartialSandbox => ({ id: 's', ...(ips[0] && { ip: ips[0], ips }) });

describe('the addresses of a pod', () => {
  test('are those of its sandbox, one of each family, the primary family of the node first', () => {
    expect(podIPs([sandbox('10.0.0.7', 'fd00::7')])).toEqual(['10.0.0.7', 'fd00::7']);
    expect(podIPs([sandbox('10.0.0.7', 'fd00::7')], V6_NODE)).toEqual(['fd00::7', '10.0.0.7']);
    expect(podIPs([sandbox('fd00::7', '10.0.0.7', '10.0.0.8', 'fd00::8')])).toEqual(['10.0.0.7', 'fd00::7']);
    expect(podIPs([sandbox('fd00::7')])).toEqual(['fd00::7']);
  });

  test('have their usual spelling, and what is no address is left out', () => {
    expect(podIPs([sandbox('FD00:0::7', 'host', '10.0.0.7')])).toEqual(['10.0.0.7', 'fd00::7']);
  });

  test('may be only the primary one', () => {
    expect(podIPs([{ id: 's', ip: '10.0.0.7' }])).toEqual(['10.0.0.7']);
  });

  test('are kept when there is no sandbox, and none while only an older sandbox is ready', () => {
    expect(podIPs([])).toEqual(['10.0.0.9']);
    expect(podIPs([{ ...sandbox('10.0.0.7'), ready: false }])).toEqual(['10.0.0.9']);
    expect(podIPs([{ id: 'new', ready: false }, sandbox('10.0.0.7')])).toEqual([]);
  });

  test('are those that the runtime still reports of an ended sandbox, if the agent started later', () => {
    expect(podIPs([{ ...sandbox('10.0.0.7'), ready: false }], V4_NODE, false, {})).toEqual(['10.0.0.7']);
    expect(podIPs([{ id: 's', ready: false }], V4_NODE, false, {})).toEqual([]);
  });

  test('are those of the node for a pod on its network', () => {
    expect(podIPs([sandbox()], V4_NODE, true)).toEqual(V4_NODE);
    expect(podIPs([sandbox()], V4_NODE)).toEqual([]);
  });
});

function shown(spec: Partial<PodSpec>) {
  const pod = podOf();
  const { allocatedResources, resources } = generateAPIPodStatus(
    factsOf({ ...pod, spec: { ...pod.spec, ...spec } }, {}),
  );
  return { allocatedResources, resources };
}

test('requests and limits are the sums over the containers that run at one time, as the kubelet writes them', () => {
  const initContainers = [{ name: 'init', resources: { requests: { cpu: '40m' }, limits: { cpu: '3' } } }];
  const containers: Container[] = [
    { name: 'a', resources: { requests: { cpu: '10m', memory: '8Mi' }, limits: { memory: '0.5Gi' } } },
    {
      name: 'b',
      resources: { requests: { cpu: '20m', memory: '8M' }, limits: { memory: '64Mi', cpu: '1.5' } },
    },
  ];
  const requests = { cpu: '40m', memory: '16388608' };
  expect(shown({ initContainers, containers })).toEqual({
    allocatedResources: requests,
    resources: { requests, limits: { cpu: '3', memory: '576Mi' } },
  });
});

test('resources of the pod itself count instead, and overhead is added', () => {
  const containers = [{ name: 'a', resources: { requests: { cpu: '30m', memory: '8Mi' } } }];
  const requests = { cpu: '35m', memory: '100Mi' };
  expect(
    shown({ containers, overhead: { cpu: '5m' }, resources: { requests: { memory: '100Mi' } } }),
  ).toEqual({ allocatedResources: requests, resources: { requests } });
});

test('a request of 0 is shown, and a pod without requests and limits shows that it has none', () => {
  const requests = { cpu: '0' };
  expect(shown({ containers: [{ name: 'a', resources: { requests } }] })).toEqual({
    allocatedResources: requests,
    resources: { requests },
  });
  expect(shown({ containers: [{ name: 'a' }] })).toEqual({ resources: {} });
});
