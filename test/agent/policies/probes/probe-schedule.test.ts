import { describe, expect, test } from '@jest/globals';
import { beatFrom, firstDelayMs, nextDelayMs } from '../../../../src/agent/policies/probes/probe-schedule.ts';

const PROBE = { periodSeconds: 10 };
const step = (startedAt: number, delayMs = 0) =>
  ({ kind: 'probe', startedAt, notBefore: startedAt + delayMs }) as const;

describe('the beat', () => {
  test('of a worker begins when it is created', () => {
    expect(beatFrom(50_000, 0, PROBE, 0.5)).toEqual({
      agentStartedAt: 0,
      anchorAt: 50_000,
      catchUpAt: 50_000,
    });
  });

  test('is spread over a period while the agent has run for less than a period', () => {
    expect(beatFrom(9_999, 0, PROBE, 0.5)).toMatchObject({ anchorAt: 14_999, catchUpAt: 10_499 });
    expect(beatFrom(10_000, 0, PROBE, 0.5).anchorAt).toBe(10_000);
  });
});

describe('the first run', () => {
  const beat = { agentStartedAt: 0, anchorAt: 100_000, catchUpAt: 100_000 };

  test.each(['liveness', 'startup'] as const)(
    '%s keeps the beat: a container gets some time first',
    (kind) => {
      expect(firstDelayMs(kind, PROBE, step(100_300), beat, 100_400)).toBe(9_600);
      expect(firstDelayMs(kind, PROBE, step(113_000), beat, 113_000)).toBe(7_000);
    },
  );

  test('a worker that is created for a running container probes at once', () => {
    expect(firstDelayMs('liveness', PROBE, step(50_000), beat, 100_000)).toBe(0);
  });

  test('the first probe is at the first beat after the initial delay', () => {
    expect(firstDelayMs('liveness', PROBE, step(100_300, 15_000), beat, 100_400)).toBe(19_600);
  });

  test('there is no probe before the first beat', () => {
    expect(firstDelayMs('liveness', PROBE, step(50_000), beat, 98_000)).toBe(2_000);
  });

  test('readiness does not wait for the beat, only for its initial delay', () => {
    expect(firstDelayMs('readiness', PROBE, step(100_300), beat, 100_400)).toBe(0);
    expect(firstDelayMs('readiness', PROBE, step(100_300, 2_000), beat, 100_400)).toBe(1_900);
  });

  test.each(['readiness', 'startup'] as const)(
    '%s of a container that ran before the agent is probed soon',
    (kind) => {
      const young = { agentStartedAt: 95_000, anchorAt: 100_000, catchUpAt: 96_400 };
      expect(firstDelayMs(kind, PROBE, step(1_000), young, 96_000)).toBe(400);
      expect(firstDelayMs(kind, PROBE, step(90_000, 9_000), young, 96_000)).toBe(3_000);
    },
  );

  test('liveness of a container that ran before the agent is probed at a beat; readiness of a new container is not spread', () => {
    const young = { agentStartedAt: 95_000, anchorAt: 100_000, catchUpAt: 96_400 };
    expect(firstDelayMs('liveness', PROBE, step(1_000), young, 96_000)).toBe(4_000);
    expect(firstDelayMs('readiness', PROBE, step(95_500), young, 96_000)).toBe(0);
  });
});

describe('the next run', () => {
  test('comes a period after the start of the one before', () => {
    expect(nextDelayMs(PROBE, 1_000, 1_700)).toBe(9_300);
  });

  test('comes at once if that took a period or more', () => {
    expect(nextDelayMs(PROBE, 1_000, 12_000)).toBe(0);
  });

  test('does not wait for a clock that was set back', () => {
    expect(nextDelayMs(PROBE, 900_000, 1_000)).toBe(10_000);
  });
});
