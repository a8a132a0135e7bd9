import { describe, expect, test } from '@jest/globals';
import {
  containerHash,
  containerShouldRestart,
  containerStatusByName,
  isRestartableInitContainer,
  restartsOnFailure,
  shouldAllContainersRestart,
  shouldContainerBeRestarted,
} from '../../../../src/agent/policies/pod-actions/restart.ts';
import type { Container, Pod } from '../../../../src/types/kubernetes.ts';
import type { RuntimeContainerState } from '../../../../src/types/runtime-pod.ts';
import { runtimePodStatus } from '../../../support/runtime-pod-status.ts';
import { testVectors } from '../../../support/test-vectors.ts';

testVectors('restart');

const METADATA = { name: 'pod', namespace: 'ns', uid: 'uid' };
const WEB: Container = { name: 'web' };

function podWith(restartPolicy: string | undefined, container: Container = WEB): Pod {
  return { metadata: METADATA, spec: { containers: [container], restartPolicy } };
}

function rule(action: string, operator: string, values: number[]) {
  return { action, exitCodes: { operator, values } };
}

function exitedWith(exitCode: number, name = 'web') {
  return runtimePodStatus({ containers: [{ id: '1', name, state: 'exited', exitCode }] });
}

describe('containerShouldRestart', () => {
  test.each([
    ['Always', true, true],
    ['OnFailure', false, true],
    ['Never', false, false],
    [undefined, true, true],
  ])('pod policy %s: restart after exit 0 is %s, after exit 1 %s', (policy, onSuccess, onFailure) => {
    expect(containerShouldRestart(podWith(policy), WEB, 0)).toBe(onSuccess);
    expect(containerShouldRestart(podWith(policy), WEB, 1)).toBe(onFailure);
  });

  test("the container's own policy counts before the pod's", () => {
    expect(containerShouldRestart(podWith('Always'), { ...WEB, restartPolicy: 'Never' }, 1)).toBe(false);
    expect(containerShouldRestart(podWith('Never'), { ...WEB, restartPolicy: 'OnFailure' }, 1)).toBe(true);
  });

  test('an unknown policy does not count', () => {
    expect(containerShouldRestart(podWith('Never'), { ...WEB, restartPolicy: 'Sometimes' }, 1)).toBe(false);
  });

  test.each([
    ['In', [42], 42, true],
    ['In', [42], 1, false],
    ['NotIn', [42], 1, true],
    ['NotIn', [42], 42, false],
    ['Near', [42], 42, false],
  ])('a rule with operator %s %j on exit %i overrides Never: %s', (operator, values, exitCode, restarts) => {
    const container = {
      ...WEB,
      restartPolicy: 'Never',
      restartPolicyRules: [rule('Restart', operator, values)],
    };
    expect(containerShouldRestart(podWith('Never'), container, exitCode)).toBe(restarts);
  });

  test('a rule that restarts all containers restarts its own container too', () => {
    const container = {
      ...WEB,
      restartPolicy: 'Never',
      restartPolicyRules: [rule('RestartAllContainers', 'In', [42])],
    };
    expect(containerShouldRestart(podWith('Never'), container, 42)).toBe(true);
  });

  test('rules count only if the container has its own policy', () => {
    const container = { ...WEB, restartPolicyRules: [rule('Restart', 'In', [42])] };
    expect(containerShouldRestart(podWith('Never'), container, 42)).toBe(false);
  });
});

describe('restartsOnFailure', () => {
  test('depends on policies only: rules about exit codes do not count', () => {
    const container = {
      ...WEB,
      restartPolicy: 'Never',
      restartPolicyRules: [rule('Restart', 'NotIn', [0])],
    };
    expect(restartsOnFailure(podWith('Always'), container)).toBe(false);
    expect(restartsOnFailure(podWith('OnFailure'), WEB)).toBe(true);
    expect(restartsOnFailure(podWith('Never'), WEB)).toBe(false);
  });
});

describe('shouldContainerBeRestarted', () => {
  test('a container that was never created is started under every policy', () => {
    expect(shouldContainerBeRestarted(WEB, podWith('Never'), runtimePodStatus({}))).toBe(true);
  });

  test.each<[RuntimeContainerState, boolean]>([
    ['created', true],
    ['running', false],
    ['unknown', true],
  ])('a %s container with policy Never: %s', (state, starts) => {
    const status = runtimePodStatus({ containers: [{ id: '1', name: 'web', state }] });
    expect(shouldContainerBeRestarted(WEB, podWith('Never'), status)).toBe(starts);
  });

  test('for an exited container the exit code counts', () => {
    expect(shouldContainerBeRestarted(WEB, podWith('OnFailure'), exitedWith(0))).toBe(false);
    expect(shouldContainerBeRestarted(WEB, podWith('OnFailure'), exitedWith(1))).toBe(true);
  });

  test('in a pod that is being deleted no container is started, not even for the first time', () => {
    const pod = podWith('Always');
    const deleted = { ...pod, metadata: { ...METADATA, deletionTimestamp: '2030-01-01T00:00:00Z' } };
    expect(shouldContainerBeRestarted(WEB, deleted, runtimePodStatus({}))).toBe(false);
    expect(shouldContainerBeRestarted(WEB, deleted, exitedWith(1))).toBe(false);
  });
});

describe('shouldAllContainersRestart', () => {
  const asking = {
    ...WEB,
    restartPolicy: 'Never',
    restartPolicyRules: [rule('RestartAllContainers', 'In', [42])],
  };

  test('when the newest instance of a regular container ended with an exit code that asks for it', () => {
    expect(shouldAllContainersRestart(podWith('Never', asking), exitedWith(42), undefined)).toBe(true);
    expect(shouldAllContainersRestart(podWith('Never', asking), exitedWith(1), undefined)).toBe(false);
  });

  test('when an init container asks for it', () => {
    const pod: Pod = {
      metadata: METADATA,
      spec: { containers: [WEB], initContainers: [{ ...asking, name: 'setup' }] },
    };
    expect(shouldAllContainersRestart(pod, exitedWith(42, 'setup'), undefined)).toBe(true);
  });

  test('an older instance that asked for it does not count, nor does one that has not ended', () => {
    const newer = { id: '2', name: 'web', state: 'running' as const, exitCode: 42 };
    const older = { id: '1', name: 'web', state: 'exited' as const, exitCode: 42 };
    const status = runtimePodStatus({ containers: [newer, older] });
    expect(shouldAllContainersRestart(podWith('Never', asking), status, undefined)).toBe(false);
  });

  test('as long as the condition AllContainersRestarting is True', () => {
    const withStatus = (status: string) => ({ conditions: [{ type: 'AllContainersRestarting', status }] });
    const pod = podWith('Never');
    expect(shouldAllContainersRestart(pod, runtimePodStatus({}), withStatus('True'))).toBe(true);
    expect(shouldAllContainersRestart(pod, runtimePodStatus({}), withStatus('False'))).toBe(false);
  });
});

test('only an init container with restartPolicy Always is a sidecar', () => {
  expect(isRestartableInitContainer({ name: 'proxy', restartPolicy: 'Always' })).toBe(true);
  expect(isRestartableInitContainer({ name: 'setup', restartPolicy: 'OnFailure' })).toBe(false);
  expect(isRestartableInitContainer({ name: 'setup' })).toBe(false);
});

test('the status by name is that of the newest instance', () => {
  const status = runtimePodStatus({
    containers: [
      { id: 'other', name: 'other', state: 'running' },
      { id: 'new', name: 'web', state: 'running' },
      { id: 'old', name: 'web', state: 'exited' },
    ],
  });
  expect(containerStatusByName(status, 'web')?.id).toBe('new');
  expect(containerStatusByName(status, 'missing')).toBeUndefined();
});

test('the hash of a container stays the same in all versions: adoption after an upgrade depends on it', () => {
  expect(containerHash({ name: 'web', image: 'nginx:1.27' })).toBe('9db413c7');
  expect(containerHash({ name: 'wéb' })).toBe('3ccb16ef');
});

test('another name or another image gives another hash', () => {
  const hashes = [
    { name: 'web', image: 'a' },
    { name: 'web', image: 'b' },
    { name: 'db', image: 'a' },
    { name: 'web' },
  ];
  expect(new Set(hashes.map(containerHash)).size).toBe(hashes.length);
});

test('fields whose change does not restart the container do not count', () => {
  const web = { name: 'web', image: 'a' };
  const resized = { ...web, resources: { limits: { cpu: '2' } }, env: [{ name: 'A', value: 'b' }] };
  expect(containerHash(resized)).toBe(containerHash(web));
});
