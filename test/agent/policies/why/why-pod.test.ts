import { describe, expect, test } from '@jest/globals';
import {
  nameDelay,
  preemptionDelay,
  roomDelay,
} from '../../../../src/agent/policies/admission/start-delay.ts';
import { deletionKill } from '../../../../src/agent/policies/termination/ended-pod.ts';
import { type PodWhyFacts, whyPod } from '../../../../src/agent/policies/why/why-pod.ts';
import type { ContainerStatus, CoreEvent, Pod, PodStatus } from '../../../../src/types/kubernetes.ts';
import { EVICTED, podOf } from '../../../support/pod-status-facts.ts';

const NOW = Date.UTC(2030, 0, 1, 10, 32);
const POD = podOf({ containers: [{ name: 'app', image: 'app:1' }, { name: 'side' }] });
const at = (secondsAgo: number) => new Date(NOW - secondsAgo * 1000).toISOString();

function container(name: string, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name, image: '', imageID: '', ready: false, restartCount: 0, ...more };
}

const running = (name: string, more: Partial<ContainerStatus> = {}) =>
  container(name, { ready: true, started: true, state: { running: { startedAt: at(240) } }, ...more });
const waits = (name: string, reason: string, message = '', more: Partial<ContainerStatus> = {}) =>
  container(name, { state: { waiting: { reason, message } }, ...more });

function event(reason: string, message: string, fieldPath?: string): CoreEvent {
  return {
    metadata: {},
    type: 'Warning',
    reason,
    message,
    involvedObject: { ...(fieldPath && { fieldPath }) },
  };
}

function answer(state: string, statuses: readonly ContainerStatus[], more: Partial<PodWhyFacts> = {}) {
  return whyPod({
    pod: POD,
    status: { phase: 'Running', containerStatuses: statuses },
    state,
    sinceMs: undefined,
    delay: undefined,
    rejection: undefined,
    override: undefined,
    gracePeriodSeconds: undefined,
    isUnwanted: false,
    nextTryMs: undefined,
    events: [],
    nowMs: NOW,
    ...more,
  });
}

const why = (...facts: Parameters<typeof answer>) => answer(...facts).sentences.join(' ');

const SIDE = running('side');

describe('a pod that waits', () => {
  test('says what for, as the answer to its request said', () => {
    const delay = nameDelay({ namespace: 'shop', name: 'web', uid: 'u-0' });
    expect(why('Syncing.Starting.AwaitingName', [], { delay })).toBe(
      'shop/web waits for shop/web (UID u-0) to end: it has the same name. 0 of 2 containers run.',
    );
  });

  test('names those who hold what it waits for, or was refused for', () => {
    const message =
      'Allocate failed due to requested number of devices unavailable for example.com/gpu. Requested: 1, Available: 0, which is unexpected';
    const rejection = { reason: 'UnexpectedAdmissionError', message };
    const holdersOf = ({ part }: { readonly part: string }) =>
      part === 'example.com/gpu' ? 'both are held by shop/a and shop/b' : undefined;
    const delay = roomDelay(rejection);
    expect(why('Syncing.Starting.AwaitingRoom', [], { delay, holdersOf })).toBe(
      'shop/web waits for 1 example.com/gpu: both are held by shop/a and shop/b. 0 of 2 containers run.',
    );
    expect(why('Syncing.Starting.AwaitingRoom', [], { delay })).toContain('waits until others have ended');
    expect(why('Terminated.Finished', [], { rejection, holdersOf })).toContain(
      'It asked for 1 example.com/gpu; now both are held by shop/a and shop/b.',
    );
  });

  test('names those who hold devices, CPUs and memory, where the free ones do not lie together', () => {
    const rejection = {
      reason: 'TopologyAffinityError',
      message: 'Resources cannot be allocated with Topology locality',
    };
    const amounts = { cpu: '2', memory: '1Gi', 'example.com/gpu': '1' };
    const resources = { requests: amounts, limits: amounts };
    const pod = podOf({ containers: [{ name: 'app', image: 'app:1', resources }] });
    const held = new Map([
      ['example.com/gpu', 'shop/a holds 1'],
      ['cpu', 'shop/a holds 1 and shop/b holds 1'],
    ]);
    const holdersOf = ({ part }: { readonly part: string }) => held.get(part);
    const delay = roomDelay(rejection);
    expect(why('Syncing.Starting.AwaitingRoom', [], { pod, delay, holdersOf })).toContain(
      'waits for 1 example.com/gpu and 2 CPUs of its own where the topology policy wants it: ' +
        'of example.com/gpu shop/a holds 1; of CPUs shop/a holds 1 and shop/b holds 1.',
    );
    held.delete('cpu');
    expect(why('Terminated.Finished', [], { pod, rejection, holdersOf })).toContain(
      'It asked for 1 example.com/gpu where the topology policy wants it; now shop/a holds 1.',
    );
    held.clear();
    expect(why('Syncing.Starting.AwaitingRoom', [], { pod, delay, holdersOf })).toContain(
      'do not lie together as the node',
    );
  });

  test('with its resize for pods that are ending for it, names them', () => {
    const conditions = [{ type: 'PodResizePending', status: 'True', reason: 'Deferred', message: 'no room' }];
    const status: PodStatus = { phase: 'Running', conditions, containerStatuses: [running('app'), SIDE] };
    const resizeDelay = preemptionDelay('cpu=500m', [{ namespace: 'shop', name: 'batch', uid: 'u-1' }]);
    expect(why('Syncing.Settled', [], { status, resizeDelay })).toContain(
      'shop/web runs with its former resources, and waits for cpu=500m; shop/batch is ending for it.',
    );
  });

  test('for the node, before its containers have their turn, says so', () => {
    const creating = [waits('app', 'ContainerCreating'), waits('side', 'ContainerCreating')];
    expect(why('Syncing.Starting.Admitting', creating)).toBe(
      'shop/web waits for the node to decide whether it has room, and for its devices. 0 of 2 containers run.',
    );
  });

  test('for a device plugin names the plugin and the call, whatever it waited for before', () => {
    const delay = nameDelay({ namespace: 'shop', name: 'web', uid: 'u-0' });
    const podWait = {
      resource: 'example.com/gpu',
      call: 'PreStartContainer',
      since: NOW - 20_000,
    } as const;
    expect(why('Syncing.Working', [SIDE], { delay, podWait })).toBe(
      'shop/web has waited since 10:31:40Z (20s ago) for the device plugin of example.com/gpu to answer PreStartContainer. ' +
        '1 of 2 containers run, 1 is ready.',
    );
  });

  test('for its image names the answer of the registry, not the back-off, and the next try', () => {
    const app = waits('app', 'ImagePullBackOff', 'Back-off pulling image "app:1"');
    const refused = 'pulling from host registry.example failed with status code [manifests 1]: 403 Forbidden';
    const pulls = { ...event('Pulling', '', 'spec.containers{app}'), count: 3, firstTimestamp: at(143) };
    const events = [
      pulls,
      event('Failed', `Failed to pull image "app:1": ${refused}`),
      event('Failed', 'Failed to pull image "side:1": not found'),
    ];
    const asked = { events, nextTryMs: NOW + 37_000 };
    expect(why('Syncing.BackingOff', [app, SIDE], asked)).toBe(
      'shop/web waits for the image app:1 of container app: registry.example answered 403 (Forbidden); ' +
        'next try at 10:32:37Z (in 37s), the 4th in 3m. ' +
        'The container cannot start without it; 1 of 2 containers run, 1 is ready.',
    );
  });

  test.each([
    [1, '2nd'],
    [2, '3rd'],
    [10, '11th'],
    [20, '21st'],
    [111, '112th'],
  ])('after %i pulls the next is the %s', (count, text) => {
    const events = [{ ...event('Pulling', '', 'spec.containers{app}'), count, firstTimestamp: at(60) }];
    const app = waits('app', 'ErrImagePull', 'no space left on device');
    expect(why('Syncing.BackingOff', [app, SIDE], { events, nextTryMs: NOW + 10_000 })).toMatch(
      new RegExp(`app: ErrImagePull: no space left on device; next try .*, the ${text} in 70s\\. `),
    );
  });

  test('for the image of an init container says that nothing else starts', () => {
    const pod = podOf({ initContainers: [{ name: 'one', image: 'reg.example/one' }] });
    const status = {
      phase: 'Pending',
      initContainerStatuses: [waits('one', 'ErrImagePull', 'reg.example/one: not found')],
    };
    expect(why('Syncing.BackingOff', [], { pod, status })).toBe(
      'shop/web waits for the image reg.example/one of init container one (1 of 1): ' +
        'reg.example does not have it (not found). No other container starts before it; 0 of 1 container runs.',
    );
  });

  test('to start a container again says how it ended, how often and when it is tried', () => {
    const terminated = { exitCode: 3, reason: 'Error', finishedAt: at(5) } as const;
    const app = waits('app', 'CrashLoopBackOff', 'back-off', { restartCount: 4, lastState: { terminated } });
    expect(why('Syncing.BackingOff', [app, SIDE], { nextTryMs: NOW + 80_000 })).toBe(
      'shop/web waits to start container app again, which has been restarted 4 times and last ended with exit code 3 ' +
        '(Error) at 10:31:55Z (5s ago); next try at 10:33:20Z (in 80s). ' +
        '1 of 2 containers run, 1 is ready, restarted 4 times.',
    );
  });

  test.each([
    ['FailedCreatePodContainer', 'its cgroup'],
    ['FailedPrepareDynamicResources', 'its resource claims'],
    ['FailedCreatePodSandBox', 'its sandbox'],
  ])('after %s says that %s is missing, and why', (reason, what) => {
    const creating = [waits('app', 'ContainerCreating'), waits('side', 'ContainerCreating')];
    const events = [event('FailedMount', 'what is over by now'), event(reason, 'systemd does not answer')];
    expect(why('Syncing.BackingOff', creating, { events })).toBe(
      `shop/web waits for ${what}: systemd does not answer. 0 of 2 containers run.`,
    );
  });

  const MOUNT = 'MountVolume.SetUp failed for volume "conf" :';
  test.each([
    [`${MOUNT} configmap "conf" not found`, 'ConfigMap shop/conf, which does not exist'],
    [`${MOUNT} the disk is full`, `its volumes: ${MOUNT} the disk is full`],
  ])('for its volumes says what is missing: %s', (problem, what) => {
    const creating = [waits('app', 'ContainerCreating'), waits('side', 'ContainerCreating')];
    const events = [event('FailedMount', problem)];
    expect(why('Syncing.BackingOff', creating, { events })).toBe(
      `shop/web waits for ${what}. 0 of 2 containers run.`,
    );
  });

  test('for its volumes names what the last sync has not found, and not what events of before name', () => {
    const creating = [waits('app', 'ContainerCreating'), waits('side', 'ContainerCreating')];
    const events = [event('FailedMount', `${MOUNT} secret "come" not found`)];
    const mountProblem = `${MOUNT} configmap "conf" not found; the disk is full; secret "keys" not found`;
    expect(why('Syncing.BackingOff', creating, { events, mountProblem })).toBe(
      'shop/web waits for ConfigMap shop/conf and Secret shop/keys, which do not exist; ' +
        'and for its volumes: the disk is full. 0 of 2 containers run.',
    );
  });

  test('for variables of several containers names what each lacks', () => {
    const lacking = (name: string, message: string) => waits(name, 'CreateContainerConfigError', message);
    const statuses = [
      lacking('app', 'secret "keys" not found'),
      lacking('side', 'configmap "conf" not found'),
    ];
    expect(why('Syncing.BackingOff', statuses)).toBe(
      'shop/web waits for Secret shop/keys and ConfigMap shop/conf, which do not exist. 0 of 2 containers run.',
    );
  });

  test('for variables of one container names all that it lacks, and what else is wrong with them', () => {
    const problem =
      `secret "keys" not found; couldn't find key color in ConfigMap shop/conf; ` +
      'environment variable key "Z" not found in file "/f.env"';
    const statuses = [
      waits('app', 'CreateContainerConfigError', problem),
      waits('side', 'CrashLoopBackOff', 'back-off'),
    ];
    expect(why('Syncing.BackingOff', statuses)).toBe(
      'shop/web waits for Secret shop/keys and key color of ConfigMap shop/conf, which do not exist; ' +
        'and for container app: environment variable key "Z" not found in file "/f.env". 0 of 2 containers run.',
    );
  });

  test('for a key of an object says which', () => {
    const problem = "couldn't find key color in ConfigMap shop/conf";
    const creating = [
      waits('app', 'CreateContainerConfigError', problem),
      waits('side', 'ContainerCreating'),
    ];
    expect(why('Syncing.BackingOff', creating)).toBe(
      'shop/web waits for key color of ConfigMap shop/conf, which does not exist. 0 of 2 containers run.',
    );
  });

  test('for an init container names it and its place', () => {
    const pod = podOf({ initContainers: [{ name: 'one' }, { name: 'two' }] });
    const done = container('one', { state: { terminated: { exitCode: 0 } } });
    const status = { phase: 'Pending', initContainerStatuses: [done, running('two')] };
    expect(why('Syncing.Settled', [], { pod, status })).toMatch(
      /^shop\/web waits for its init container two \(2 of 2\), which runs since 10:28:00Z \(4m ago\)\. 0 of 1 /,
    );
  });

  test('on an error that is not one of a container says the latest one', () => {
    const events = [
      event('FailedSync', 'error syncing pod'),
      event('FailedToMakePodDataDirectories', 'no space left'),
    ];
    expect(why('Syncing.BackingOff', [running('app'), SIDE], { events })).toMatch(
      /^shop\/web waits for the next try: no space left\. /,
    );
  });
});

describe('a pod that runs', () => {
  test('says so', () => {
    expect(why('Syncing.Settled', [running('app'), SIDE])).toBe(
      'shop/web runs as its spec says. 2 of 2 containers run, 2 are ready.',
    );
  });

  test('counts its sidecars, as kubectl does', () => {
    const proxy = { name: 'proxy', restartPolicy: 'Always' };
    const pod = podOf({ initContainers: [{ name: 'first' }, proxy], containers: [{ name: 'app' }] });
    const first = container('first', { state: { terminated: { exitCode: 0 } } });
    const status = {
      phase: 'Running',
      initContainerStatuses: [first, running('proxy')],
      containerStatuses: [running('app')],
    };
    expect(why('Syncing.Settled', [], { pod, status })).toBe(
      'shop/web runs as its spec says. 2 of 2 containers run, 2 are ready.',
    );
  });

  test('and is not ready names the container and its latest probe', () => {
    const events = [
      event('Unhealthy', 'Readiness probe failed: 503', 'spec.containers{app}'),
      event('Unhealthy', 'Readiness probe failed: 500', 'spec.containers{side}'),
    ];
    expect(why('Syncing.Settled', [running('app', { ready: false }), SIDE], { events })).toBe(
      'shop/web runs, but container app is not ready: Readiness probe failed: 503. 2 of 2 containers run, 1 is ready.',
    );
    const starting = running('app', { ready: false, started: false });
    expect(why('Syncing.Settled', [starting, SIDE])).toMatch(
      /^shop\/web runs, and waits for the startup probe of container app\. /,
    );
  });

  test('and waits for a readiness gate names its condition', () => {
    const pod: Pod = { ...POD, spec: { ...POD.spec, readinessGates: [{ conditionType: 'lb' }] } };
    expect(why('Syncing.Settled', [running('app'), SIDE], { pod })).toMatch(
      /^shop\/web runs, but is not ready: its condition lb /,
    );
  });

  test('with a device that is broken names it', () => {
    const resources = [
      { resourceID: 'gpu-0', health: 'Healthy' },
      { resourceID: 'gpu-1', health: 'Unhealthy' },
    ];
    const app = running('app', { allocatedResourcesStatus: [{ name: 'example.com/gpu', resources }] });
    expect(why('Syncing.Settled', [app, SIDE])).toBe(
      'shop/web runs, but has a device that is not healthy: gpu-1 of example.com/gpu, in container app. ' +
        '2 of 2 containers run, 2 are ready.',
    );
  });
});

describe('a pod that ends', () => {
  test('says by whom, and until when its containers may run', () => {
    const override = {
      phase: 'Failed',
      reason: 'Preempting',
      message: 'Preempted in order to admit critical pod',
    } as const;
    const ending = { override, gracePeriodSeconds: 30, sinceMs: NOW - 10_000 };
    expect(why('Terminating.Stopping', [running('app'), SIDE], ending)).toBe(
      'shop/web is ending: its containers are being stopped; Preempting: Preempted in order to admit critical pod. ' +
        'Its containers have a grace period until 10:32:20Z (in 20s); 2 of 2 containers run, 2 are ready.',
    );
  });

  test('because its manifest has gone says so', () => {
    const sentences = why('Terminating.BackingOff', [SIDE], { isUnwanted: true, gracePeriodSeconds: 5 });
    expect(sentences).toMatch(
      /; its source does not have it any more\. Its containers have a grace period of 5 s; 1 of 2 /,
    );
  });

  test('says that it is being cleaned up, and why that fails', () => {
    const cleaning = why('Terminated.BackingOff', [], {
      events: [event('FailedSync', 'device or resource busy')],
    });
    expect(cleaning).toMatch(
      /^shop\/web has ended\. It has ended: .* tried again: device or resource busy\.$/,
    );
  });

  test.each(['file', 'local'])('that a user has deleted (%s) says once when it comes back', (source) => {
    const annotations = { 'kubernetes.io/config.source': source };
    const pod: Pod = { ...POD, metadata: { ...POD.metadata, annotations } };
    const { podStatus } = deletionKill({ uid: POD.metadata.uid });
    const status: PodStatus = { phase: 'Running', ...podStatus };
    expect(why('Terminated.Finished', [], { pod, status, sinceMs: NOW - 240_000 })).toBe(
      'shop/web has ended at 10:28:00Z (4m ago): it was deleted on its node. It comes back when its manifest changes.',
    );
  });

  test('that has failed names the containers by which it has, and init containers where no other has run', () => {
    const exited = (name: string, exitCode: number) =>
      container(name, {
        state: { terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error' } },
      });
    const whyEnded = (status: PodStatus) => answer('Terminated.Finished', [], { status });
    const ended = (status: PodStatus) =>
      whyEnded(status).sentences[0]?.replace('shop/web has ended, phase Failed: ', '');
    const containerStatuses = [exited('app', 3), exited('side', 0)];
    expect(ended({ phase: 'Failed', containerStatuses })).toBe(
      'container app ended with exit code 3 (Error).',
    );
    const both = { phase: 'Failed', containerStatuses: [exited('app', 3), exited('side', 4)] };
    expect(ended(both)).toBe(
      'container app ended with exit code 3 (Error), container side ended with exit code 4 (Error).',
    );
    expect(whyEnded(both).end).toMatchObject({ failed: [{ name: 'app', exitCode: 3 }, { name: 'side' }] });
    const waiting = [waits('app', 'PodInitializing'), waits('side', 'PodInitializing')];
    const initContainerStatuses = [exited('first', 0), exited('second', 7)];
    expect(ended({ phase: 'Failed', containerStatuses: waiting, initContainerStatuses })).toBe(
      'container second ended with exit code 7 (Error).',
    );
  });

  test('says whether it comes back', () => {
    const status = { ...EVICTED, conditions: [] };
    const ended = (source: string) => {
      const annotations = { 'kubernetes.io/config.source': source };
      const pod: Pod = { ...POD, metadata: { ...POD.metadata, annotations } };
      return why('Terminated.Finished', [], { pod, status, sinceMs: NOW - 240_000 });
    };
    const how =
      'shop/web has ended at 10:28:00Z (4m ago), phase Failed: Evicted: The node was low on resource: memory. ';
    const before = why('Terminated.Finished', [], { status, sinceMs: NOW, endedMs: NOW - 240_000 });
    expect(before).toMatch(/^shop\/web has ended at 10:28:00Z \(4m ago\), /);
    expect(ended('file')).toBe(`${how}It comes back when its manifest changes.`);
    expect(ended('local')).toBe(
      `${how}It does not come back until its manifest changes: it is not a static pod.`,
    );
    expect(ended('api')).toMatch(/a controller of the cluster may make another pod in its place\.$/);
  });
});
