import { describe, expect, test } from '@jest/globals';
import {
  nameDelay,
  preemptionDelay,
  REMOVAL_DELAY,
  roomDelay,
  runtimeDelay,
} from '../../../src/policies/admission/start-delay.ts';

const podOf = (name: string) => ({ name, namespace: 'default', uid: `uid-${name}` });

describe('a pod that has not been started waits for', () => {
  test('the container runtime, with its problem', () => {
    const { reason, message } = runtimeDelay('network plugin is not ready');
    expect(reason).toBe('RuntimeNotReady');
    expect(message).toContain('network plugin is not ready');
  });

  test('the removal of an earlier pod of its UID', () => {
    expect(REMOVAL_DELAY.reason).toBe('RemovingFormerPod');
  });

  test('another pod with its name, which is named with its UID', () => {
    const { reason, message } = nameDelay(podOf('web'));
    expect(reason).toBe('NameTaken');
    expect(message).toContain('default/web (UID uid-web)');
  });

  test('resources, with the reason and the message of its rejection', () => {
    const { reason, message } = roomDelay({ reason: 'OutOfcpu', message: 'cpu, requested: 2' });
    expect(reason).toBe('OutOfcpu');
    expect(message).toContain('cpu, requested: 2');
  });

  test.each([
    ['cpu=300m', ['a'], 'waits for cpu=300m; default/a is ending for it'],
    ['cpu=300m', ['a', 'b'], 'waits for cpu=300m; default/a, default/b are ending for it'],
    ['', ['a'], 'waits for room; default/a is ending for it'],
  ])('%s and the end of its victims %j', (missing, names, want) => {
    expect(preemptionDelay(missing, names.map(podOf))).toEqual({ reason: 'MakingRoom', message: want });
  });
});
