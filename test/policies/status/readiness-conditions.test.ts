import { describe, expect, test } from '@jest/globals';
import {
  containersReadyCondition,
  podInitializedCondition,
  podReadyCondition,
} from '../../../src/policies/status/readiness-conditions.ts';
import type { ContainerStatus } from '../../../src/types/kubernetes.ts';
import { podOf } from '../../support/pod-status-facts.ts';
import { testVectors } from '../../support/test-vectors.ts';

testVectors('podReadyConditions');

function status(name: string, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name, image: '', imageID: '', ready: true, restartCount: 0, ...more };
}

const APP = status('app');
const POD = podOf();

describe('ContainersReady', () => {
  test('is True when every regular container is ready', () => {
    expect(containersReadyCondition(POD, [APP], 'Running')).toEqual({
      type: 'ContainersReady',
      status: 'True',
    });
  });

  test('is False and names the containers that are unknown or not ready, sidecars included', () => {
    const pod = podOf({
      containers: [{ name: 'app' }, { name: 'web' }],
      initContainers: [{ name: 'setup' }, { name: 'proxy', restartPolicy: 'Always' }],
    });
    expect(containersReadyCondition(pod, [APP, status('proxy', { ready: false })], 'Running')).toEqual({
      type: 'ContainersReady',
      status: 'False',
      reason: 'ContainersNotReady',
      message: 'containers with unknown status: [web], containers with unready status: [proxy]',
    });
  });

  test.each([
    ['Succeeded', 'PodCompleted'],
    ['Failed', 'PodFailed'],
  ])('is False for a pod of phase %s, with the reason %s', (phase, reason) => {
    expect(containersReadyCondition(POD, [APP], phase)).toMatchObject({ status: 'False', reason });
  });

  test('is False where no statuses are known', () => {
    expect(containersReadyCondition(POD, undefined, 'Running')).toMatchObject({
      status: 'False',
      reason: 'UnknownContainerStatuses',
    });
  });
});

describe('Ready', () => {
  const gated = podOf({ readinessGates: [{ conditionType: 'example.com/lb' }] });

  test('is as ContainersReady where that is False', () => {
    const unready = status('app', { ready: false });
    expect(podReadyCondition(POD, [], [unready], 'Running')).toEqual({
      type: 'Ready',
      status: 'False',
      reason: 'ContainersNotReady',
      message: 'containers with unready status: [app]',
    });
  });

  test('is False while the condition of a readiness gate is missing', () => {
    expect(podReadyCondition(gated, [], [APP], 'Running')).toMatchObject({
      reason: 'ReadinessGatesNotReady',
      message: 'corresponding condition of pod readiness gate "example.com/lb" does not exist.',
    });
  });

  test('is False while the condition of a readiness gate is not True', () => {
    const conditions = [{ type: 'example.com/lb', status: 'Unknown' }];
    expect(podReadyCondition(gated, conditions, [APP], 'Running')).toMatchObject({
      status: 'False',
      message: 'the status of pod readiness gate "example.com/lb" is not "True", but Unknown',
    });
  });

  test('is True when every readiness gate is', () => {
    const conditions = [{ type: 'example.com/lb', status: 'True' }];
    expect(podReadyCondition(gated, conditions, [APP], 'Running')).toEqual({ type: 'Ready', status: 'True' });
  });
});

describe('Initialized', () => {
  const pod = podOf({ initContainers: [{ name: 'setup' }, { name: 'proxy', restartPolicy: 'Always' }] });
  const waiting = status('app', { ready: false, state: { waiting: {} } });
  const setup = status('setup');
  const proxy = status('proxy', { started: true });

  test('is True for a pod without init containers', () => {
    expect(podInitializedCondition(POD, [], undefined, 'Pending')).toEqual({
      type: 'Initialized',
      status: 'True',
    });
  });

  test('is True when init containers have succeeded and sidecars have started', () => {
    expect(podInitializedCondition(pod, [], [setup, proxy, waiting], 'Pending').status).toBe('True');
  });

  test('is False and names init containers that are unknown or incomplete', () => {
    const notStarted = status('proxy', { started: false });
    expect(podInitializedCondition(pod, [], [notStarted, waiting], 'Pending')).toEqual({
      type: 'Initialized',
      status: 'False',
      reason: 'ContainersNotInitialized',
      message: 'containers with unknown status: [setup], containers with incomplete status: [proxy]',
    });
  });

  test('stays True once it was', () => {
    const old = [{ type: 'Initialized', status: 'True' }];
    expect(podInitializedCondition(pod, old, [waiting], 'Running').status).toBe('True');
  });

  test.each([{ running: {} }, { terminated: { exitCode: 1 } }])(
    'is True once a regular container has started: %j',
    (state) => {
      expect(podInitializedCondition(pod, [], [status('app', { state })], 'Running').status).toBe('True');
    },
  );

  test('is True with the reason PodCompleted for a pod that has succeeded', () => {
    expect(podInitializedCondition(pod, [], [setup, proxy], 'Succeeded')).toMatchObject({
      status: 'True',
      reason: 'PodCompleted',
    });
  });
});
