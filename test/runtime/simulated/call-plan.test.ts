import { describe, expect, test } from '@jest/globals';
import type { CallFaults } from '../../../src/runtime/simulated/call-faults.ts';
import { landsUnawaited, planCall } from '../../../src/runtime/simulated/call-plan.ts';
import type { CallName } from '../../../src/runtime/simulated/latencies.ts';

const VALUES = Array.from({ length: 500 }, (_, index) => index / 500);
const DEADLINE_MS = 120_000;

const plansOf = (name: CallName, faults?: CallFaults, latency?: readonly [number, number]) =>
  VALUES.map((value) => planCall(name, { faults, latency, timeoutMs: DEADLINE_MS }, value));

describe('a call', () => {
  test('without faults and latency is answered at once', () => {
    for (const plan of plansOf('StartContainer')) {
      expect(plan).toEqual({ fate: 'answered', landsAfterMs: 0, tailMs: 0 });
    }
  });

  test('takes a time of its latency, and lands somewhere within', () => {
    for (const { landsAfterMs, tailMs } of plansOf('StartContainer', undefined, [20, 60])) {
      expect(landsAfterMs).toBeGreaterThanOrEqual(0);
      expect(tailMs).toBeGreaterThanOrEqual(0);
      expect(landsAfterMs + tailMs).toBeGreaterThanOrEqual(20);
      expect(landsAfterMs + tailMs).toBeLessThanOrEqual(60);
    }
  });

  test('that is slow takes a hundred times as long', () => {
    for (const { landsAfterMs, tailMs } of plansOf('StartContainer', { slow: 1 }, [20, 20])) {
      expect(landsAfterMs + tailMs).toBe(2000);
    }
  });

  test('that fails is Unavailable or Unknown, each about as often', () => {
    const kinds = plansOf('StartContainer', { fail: 1 }).map(({ fate, kind }) => `${fate} ${kind ?? ''}`);
    expect(new Set(kinds)).toEqual(new Set(['failed Unavailable', 'failed Unknown']));
    const unknown = kinds.filter((text) => text === 'failed Unknown').length / kinds.length;
    expect(unknown).toBeGreaterThan(0.4);
    expect(unknown).toBeLessThan(0.6);
  });

  test('fails before any other fault', () => {
    const all = { fail: 1, disappear: 1, untrue: 1, hang: 1, lostAnswer: 1 };
    for (const { fate } of plansOf('StopPodSandbox', all)) expect(fate).toBe('failed');
  });

  test('that hangs lands up to 1.5 times its deadline later, or never, as one that its caller gives up', () => {
    for (const [index, { fate, landsAfterMs }] of plansOf('StartContainer', { hang: 1 }).entries()) {
      expect(fate).toBe('hung');
      if (landsUnawaited(VALUES[index]!)) expect(landsAfterMs).toBeLessThanOrEqual(1.5 * DEADLINE_MS);
      else expect(landsAfterMs).toBe(Infinity);
    }
  });

  test('whose answer is lost lands all the same', () => {
    for (const plan of plansOf('StartContainer', { lostAnswer: 1 })) {
      expect(plan).toEqual({ fate: 'answerLost', landsAfterMs: 0, tailMs: 0 });
    }
  });
});

test.each(['PodSandboxStatus', 'ContainerStatus'] as const)('%s may disappear: it is NotFound', (name) => {
  for (const plan of plansOf(name, { disappear: 1 })) {
    expect(plan).toMatchObject({ fate: 'failed', kind: 'NotFound' });
  }
});

test('other calls than status calls do not disappear, and only StopPodSandbox is untrue', () => {
  const faults = { disappear: 1, untrue: 1 };
  for (const { fate } of plansOf('ListContainers', faults)) expect(fate).toBe('answered');
  for (const { fate } of plansOf('StopContainer', faults)) expect(fate).toBe('answered');
  for (const { fate } of plansOf('StopPodSandbox', faults)) expect(fate).toBe('untrue');
});
