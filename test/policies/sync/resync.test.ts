import { describe, expect, test } from '@jest/globals';
import { notMounted, type ResyncReason, resyncDelayMs } from '../../../src/policies/sync/resync.ts';

const NOW = 1_900_000_000_000;
const moment = (random: number) => ({ syncFrequencyMs: 60_000, now: NOW, random });

describe('Timing', () => {
  test('after a successful sync: the sync frequency', () => {
    expect(resyncDelayMs({ kind: 'synced' }, moment(0))).toBe(60_000);
  });

  test('after a successful sync: up to half as long again', () => {
    expect(resyncDelayMs({ kind: 'synced' }, moment(0.5))).toBe(75_000);
    expect(resyncDelayMs({ kind: 'synced' }, moment(0.999))).toBeCloseTo(89_970);
  });

  test('after a failed sync: 10 s, whatever the sync frequency', () => {
    const seldom = { ...moment(0), syncFrequencyMs: 3_600_000 };
    expect(resyncDelayMs({ kind: 'failed' }, seldom)).toBe(10_000);
  });

  test('after a failed sync: up to half as long again', () => {
    expect(resyncDelayMs({ kind: 'failed' }, moment(0.5))).toBe(12_500);
    expect(resyncDelayMs({ kind: 'failed' }, moment(0.999))).toBeCloseTo(14_995);
  });

  test('while volumes cannot be set up: 0.5 s, doubling up to 2 min 2 s', () => {
    let reason: ResyncReason = { kind: 'failed' };
    const delays = Array.from({ length: 10 }, () => {
      reason = notMounted(reason);
      return resyncDelayMs(reason, moment(0.5));
    });
    expect(delays).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 122_000, 122_000]);
    expect(notMounted({ kind: 'synced' })).toEqual({ kind: 'notMounted', failures: 1 });
  });

  test('while the network is not ready: 1 s, without jitter', () => {
    expect(resyncDelayMs({ kind: 'networkNotReady' }, moment(0.9))).toBe(1_000);
  });

  test('in a restart back-off: when it expires, without jitter', () => {
    expect(resyncDelayMs({ kind: 'backOff', retryAt: NOW + 17_000 }, moment(0.9))).toBe(17_000);
  });

  test('after a restart back-off that has expired meanwhile: at once', () => {
    expect(resyncDelayMs({ kind: 'backOff', retryAt: NOW - 5 }, moment(0.9))).toBe(0);
  });
});
