import { describe, expect, test } from '@jest/globals';
import { Settling } from '../../scripts/compare/settling.ts';
import type { ContainerState, Pod, PodStatus } from '../../src/types/kubernetes.ts';

function pod(status: PodStatus, spec: Partial<Pod['spec']> = {}): Pod {
  const containers = [{ name: 'main', image: 'i' }];
  return {
    metadata: { name: 'a', namespace: 'default', uid: 'u' },
    spec: { restartPolicy: 'Always', terminationGracePeriodSeconds: 30, containers, ...spec },
    status,
  };
}

function withState(state: ContainerState, restartCount = 0): Pod {
  const fields = { name: 'main', image: 'i', imageID: '', ready: false, restartCount };
  return pod({ phase: 'Running', containerStatuses: [{ ...fields, state }] });
}

const running = withState({ running: { startedAt: '2026-01-01T00:00:00Z' } });
const creating = withState({ waiting: { reason: 'ContainerCreating' } });
const backingOff = withState({ waiting: { reason: 'CrashLoopBackOff' } }, 1);
const ended = withState({ terminated: { exitCode: 1 } }, 1);
const QUIET_MS = 8_000;
const STUCK_MS = 20_000;

describe('a pod has come to rest', () => {
  test('when a status at rest has not changed for some time', () => {
    const settling = new Settling();
    settling.see([running], 0);
    expect(settling.unsettled(QUIET_MS - 1)).toEqual(['default/a']);
    expect(settling.unsettled(QUIET_MS)).toEqual([]);
  });

  test('not while its container is created, but when nothing changes for long', () => {
    const settling = new Settling();
    settling.see([creating], 0);
    expect(settling.unsettled(STUCK_MS - 1)).toEqual(['default/a']);
    expect(settling.unsettled(STUCK_MS)).toEqual([]);
  });

  test('when a container has ended that does not start again, by its own policy or that of the pod', () => {
    const { status = {} } = withState({ terminated: { exitCode: 0 } });
    const containers = [{ name: 'main', image: 'i', restartPolicy: 'Never' as const }];
    const [stays, comesBack] = [new Settling(), new Settling()];
    stays.see([pod(status, { containers })], 0);
    comesBack.see([pod(status)], 0);
    expect(stays.unsettled(QUIET_MS)).toEqual([]);
    expect(comesBack.unsettled(QUIET_MS)).toEqual(['default/a']);
  });

  test('when it has ended, for good', () => {
    const settling = new Settling();
    settling.see([pod({ phase: 'Failed' })], 0);
    expect(settling.unsettled(QUIET_MS)).toEqual([]);
  });

  test('anew after each change', () => {
    const settling = new Settling();
    settling.see([running], 0);
    settling.see([pod({ phase: 'Succeeded' })], 5_000);
    expect(settling.unsettled(QUIET_MS)).toEqual(['default/a']);
    expect(settling.unsettled(5_000 + QUIET_MS)).toEqual([]);
  });

  test('while it waits for its next restart, whatever it does in between', () => {
    const settling = new Settling();
    settling.see([running], 0);
    settling.see([backingOff], 1_000);
    settling.see([running], 2_000);
    settling.see([backingOff], 3_000);
    expect(settling.unsettled(1_000 + QUIET_MS)).toEqual([]);
    expect(settling.pods().get('default/a')).toBe(backingOff);
  });

  test('not when a container that is started again has just run, nor while it has ended', () => {
    const settling = new Settling();
    settling.see([running], 0);
    settling.see([ended], 1_000);
    expect(settling.unsettled(1_000 + STUCK_MS)).toEqual(['default/a']);
    settling.see([backingOff], 2_000 + STUCK_MS);
    expect(settling.unsettled(2_000 + STUCK_MS + QUIET_MS)).toEqual([]);
    expect(settling.pods().get('default/a')).toBe(backingOff);
  });

  test('not while a container has ended that its restart rules start again', () => {
    const rule = { action: 'Restart', exitCodes: { operator: 'In', values: [42] } } as const;
    const rules = { name: 'main', image: 'i', restartPolicy: 'Never' as const, restartPolicyRules: [rule] };
    const endedWith = (exitCode: number) =>
      pod(withState({ terminated: { exitCode } }).status ?? {}, {
        restartPolicy: 'Never',
        containers: [rules],
      });
    const [listed, other] = [new Settling(), new Settling()];
    listed.see([endedWith(42)], 0);
    other.see([endedWith(1)], 0);
    expect(listed.unsettled(STUCK_MS)).toEqual(['default/a']);
    expect(other.unsettled(QUIET_MS)).toEqual([]);
  });

  test.each([
    ['an init container that has completed does not start again', {}, 0, []],
    ['an init container that has failed does', {}, 1, ['default/a']],
    ['a sidecar that has completed does', { restartPolicy: 'Always' as const }, 0, ['default/a']],
  ])('or not, by its init containers: %s', (_rule, policy, exitCode, unsettled) => {
    const { status = {} } = running;
    const fields = { name: 'init', image: 'i', imageID: '', ready: false, restartCount: 0 };
    const initContainerStatuses = [{ ...fields, state: { terminated: { exitCode } } }];
    const settling = new Settling();
    const initContainers = [{ name: 'init', image: 'i', ...policy }];
    settling.see([pod({ ...status, initContainerStatuses }, { initContainers })], 0);
    expect(settling.unsettled(STUCK_MS)).toEqual(unsettled);
  });

  test('not while it runs and has a deadline, which will end it', () => {
    const settling = new Settling();
    settling.see([pod(running.status ?? {}, { activeDeadlineSeconds: 15 })], 0);
    expect(settling.unsettled(STUCK_MS)).toEqual(['default/a']);
  });

  test('is given as it is where it never came to rest', () => {
    const settling = new Settling();
    settling.see([creating], 0);
    expect(settling.pods().get('default/a')).toBe(creating);
  });
});
