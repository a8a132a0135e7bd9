import { describe, expect, test } from '@jest/globals';
import {
  END_LIMIT_MS,
  type HealthFacts,
  podHealth,
  READY_LIMIT_MS,
  RESTART_LIMIT_MS,
  START_LIMIT_MS,
} from '../../../../src/agent/policies/why/pod-health.ts';
import type { Container, PodSpec, PodStatus } from '../../../../src/types/kubernetes.ts';
import { testPod } from '../../../support/pods.ts';

const START = Date.UTC(2026, 0, 1);
const at = (ms: number) => new Date(START + ms).toISOString();
const MAIN: Container = { name: 'main' };

type Statuses = NonNullable<PodStatus['containerStatuses']>;
const one = (name: string, state: object, more: object = {}): Statuses[number] => ({
  ...{ name, ready: false, restartCount: 0, image: '', imageID: '', state },
  ...more,
});
const runs = (name = 'main', more: object = {}) => one(name, { running: { startedAt: at(0) } }, more);
const waits = (reason: string, name = 'main') => one(name, { waiting: { reason } });
const ended = (exitCode: number, name = 'main') =>
  one(name, { terminated: { exitCode, finishedAt: at(0), startedAt: at(0) } });

interface Given {
  readonly spec?: Partial<PodSpec>;
  readonly main?: Statuses;
  readonly init?: Statuses;
  readonly ready?: boolean;
  readonly phase?: string;
  readonly afterMs?: number;
}

function healthOf(given: Given, more: Partial<HealthFacts> = {}) {
  const { spec, main = [], init = [], ready = false, phase = 'Running', afterMs = 0 } = given;
  const condition = { type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: at(0) };
  const initialized = { type: 'Initialized', status: main.length > 0 ? 'True' : 'False' };
  const pod = testPod({ name: 'web' });
  return podHealth({
    pod: { ...pod, spec: { containers: [MAIN], ...spec } },
    status: {
      phase,
      startTime: at(0),
      conditions: [condition, initialized],
      containerStatuses: main,
      initContainerStatuses: init,
    },
    state: 'Syncing.Settled',
    sinceMs: START,
    isUnwanted: false,
    nowMs: START + afterMs,
    ...more,
  });
}

describe('a pod that runs', () => {
  test('is as it should be when it is ready', () => {
    expect(healthOf({ main: [runs()], ready: true, afterMs: 1e9 })).toEqual({ kind: 'ok', sinceMs: START });
  });

  test.each([
    ['Unhealthy', { kind: 'attention', because: 'has a device that is not healthy' }],
    ['Unknown', { kind: 'ok', sinceMs: START }],
  ])('with a device that is %s', (health, expected) => {
    const allocatedResourcesStatus = [
      { name: 'example.com/gpu', resources: [{ resourceID: 'gpu-1', health }] },
    ];
    expect(healthOf({ main: [runs('main', { allocatedResourcesStatus })], ready: true })).toEqual(expected);
  });

  test('may take a minute to be ready, then it needs attention', () => {
    const main = [runs()];
    const untilMs = START + READY_LIMIT_MS;
    expect(healthOf({ main })).toEqual({ kind: 'starting', sinceMs: START, untilMs });
    expect(healthOf({ main, afterMs: READY_LIMIT_MS })).toEqual({
      kind: 'attention',
      sinceMs: START,
      because: 'is not ready',
    });
  });

  test('may take as much longer as its probes allow', () => {
    const startupProbe = { periodSeconds: 5, failureThreshold: 20 };
    const spec = { containers: [{ ...MAIN, startupProbe, readinessProbe: { initialDelaySeconds: 10 } }] };
    const { untilMs } = healthOf({ spec, main: [runs()] });
    expect(untilMs).toBe(START + READY_LIMIT_MS + 110_000);
  });

  test('needs attention for ten minutes after a restart', () => {
    const lastState = { terminated: { exitCode: 1, finishedAt: at(0), startedAt: at(0) } };
    const main = [runs('main', { restartCount: 1, lastState, ready: true })];
    expect(healthOf({ main, ready: true })).toMatchObject({
      kind: 'attention',
      because: 'was restarted lately',
      untilMs: START + RESTART_LIMIT_MS,
    });
    expect(healthOf({ main, ready: true, afterMs: RESTART_LIMIT_MS }).kind).toBe('ok');
  });

  test('is as it should be with a container that has done its work, and not with one that has failed for good', () => {
    const spec = { containers: [MAIN, { name: 'job' }], restartPolicy: 'OnFailure' };
    const serves = runs('main', { ready: true });
    expect(healthOf({ spec, main: [serves, ended(0, 'job')], afterMs: 1e9 }).kind).toBe('ok');
    const never = { ...spec, restartPolicy: 'Never' };
    expect(healthOf({ spec: never, main: [serves, ended(2, 'job')] }).kind).toBe('attention');
  });

  test('needs attention when a readiness gate stays closed', () => {
    const spec = { readinessGates: [{ conditionType: 'example.com/gate' }] };
    const main = [runs('main', { ready: true })];
    expect(healthOf({ spec, main, afterMs: READY_LIMIT_MS }).kind).toBe('attention');
  });
});

describe('a pod that starts', () => {
  test.each(['ErrImagePull', 'ImagePullBackOff', 'CreateContainerConfigError', 'CrashLoopBackOff'])(
    'needs attention at once when a container waits with %s',
    (reason) => {
      expect(healthOf({ main: [waits(reason)] }).kind).toBe('attention');
      const init = [waits(reason, 'first')];
      expect(healthOf({ init, spec: { initContainers: [{ name: 'first' }] } }).kind).toBe('attention');
    },
  );

  test('needs attention when a sync has failed', () => {
    const failed = healthOf({ main: [waits('ContainerCreating')] }, { state: 'Syncing.BackingOff' });
    expect(failed.kind).toBe('attention');
  });

  test.each([
    [
      'an init container',
      { init: [runs('first')], spec: { initContainers: [{ name: 'first' }] } },
      'is stuck in init',
    ],
    ['an image', { main: [waits('ContainerCreating')] }, 'does not start'],
  ] as const)('may wait five minutes for %s, then it needs attention', (_, given, because) => {
    const { kind, untilMs } = healthOf(given);
    expect([kind, untilMs]).toEqual(['starting', START + START_LIMIT_MS]);
    expect(healthOf({ ...given, afterMs: START_LIMIT_MS })).toMatchObject({ kind: 'attention', because });
  });

  test('counts from its state where it has no status yet', () => {
    const facts = { status: undefined, state: 'Syncing.Starting.AwaitingRoom' };
    expect(healthOf({}, facts)).toEqual({
      kind: 'starting',
      sinceMs: START,
      untilMs: START + START_LIMIT_MS,
    });
  });
});

describe('a pod that ends or has ended', () => {
  const ending = { state: 'Terminating.Stopping', gracePeriodSeconds: 30, isUnwanted: true };

  test('is ending, and needs attention when its grace period has been over for some seconds', () => {
    const limitMs = 30_000 + END_LIMIT_MS;
    expect(healthOf({ main: [runs()] }, ending)).toEqual({
      kind: 'ending',
      sinceMs: START,
      untilMs: START + limitMs,
    });
    expect(healthOf({ main: [runs()], afterMs: limitMs }, ending)).toMatchObject({
      kind: 'attention',
      because: 'is still ending after its grace period',
    });
  });

  test.each(['Terminating.BackingOff', 'Terminated.BackingOff'])('needs attention in %s', (state) => {
    expect(healthOf({ main: [runs()] }, { ...ending, state }).kind).toBe('attention');
  });

  test('has failed or is done by its phase, and is done when it was to go', () => {
    const state = 'Terminated.Finished';
    expect(healthOf({ phase: 'Failed', main: [ended(1)] }, { state }).kind).toBe('failed');
    expect(healthOf({ phase: 'Succeeded', main: [ended(0)] }, { state }).kind).toBe('done');
    expect(healthOf({ phase: 'Failed', main: [ended(143)] }, { state, isUnwanted: true }).kind).toBe('done');
    const cleaning = { state: 'Terminated.CleaningUp', isUnwanted: true };
    expect(healthOf({ phase: 'Failed', main: [ended(143)] }, cleaning).kind).toBe('ending');
  });
});
