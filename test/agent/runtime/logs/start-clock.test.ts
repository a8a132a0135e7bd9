import { expect, test } from '@jest/globals';
import { nowNs, rfc3339Nano } from '../../../../src/agent/runtime/logs/start-clock.ts';

test('the clock has more than milliseconds and stays with the system clock', () => {
  const times = Array.from({ length: 1000 }, () => nowNs());
  expect(new Set(times.map((time) => time % 1_000_000n)).size).toBeGreaterThan(100);
  const [before, now, after] = [Date.now(), Number(nowNs() / 1_000_000n), Date.now()];
  expect(now).toBeGreaterThan(before - 1_000);
  expect(now).toBeLessThan(after + 1_000);
});

test('a time has nine digits below the second, whatever they are', () => {
  expect(rfc3339Nano(1_767_225_600_123_456_789n)).toBe('2026-01-01T00:00:00.123456789Z');
  expect(rfc3339Nano(1_767_225_600_000_000_001n)).toBe('2026-01-01T00:00:00.000000001Z');
});
