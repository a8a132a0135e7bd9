import { describe, expect, test } from '@jest/globals';
import {
  type BackOffEntry,
  backOffKey,
  crashLoopBackOffMessage,
  decideBackOff,
  keepBackOffEntry,
  nextBackOffEntry,
  notMounted,
  resyncDelayMs,
  type ResyncReason,
} from '../../../../src/agent/policies/pod-actions/back-off.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { testVectors } from '../../../support/test-vectors.ts';

testVectors('crashLoopBackoff');

const POD: Pod = {
  metadata: { name: 'pod', namespace: 'ns', uid: 'uid' },
  spec: { containers: [{ name: 'web', image: 'img' }] },
};

describe('decideBackOff', () => {
  test('the first start does not wait and leaves no entry', () => {
    const decision = decideBackOff(undefined, { now: 1000, finishedAt: undefined });
    expect(decision).toEqual({ inBackOff: false, entry: undefined });
  });

  test('the first restart does not wait, the second waits for 10 s from the end of the container', () => {
    const first = decideBackOff(undefined, { now: 1000, finishedAt: 900 });
    expect(first).toEqual({ inBackOff: false, entry: { backOffMs: 10_000, lastUpdate: 1000 } });

    const second = decideBackOff(first.entry, { now: 2500, finishedAt: 2000 });
    expect(second).toEqual({ inBackOff: true, entry: first.entry, nextRestartAt: 12_000 });
  });

  test('the wait ends exactly when the back-off has passed, counted from the end of the container', () => {
    const entry = { backOffMs: 10_000, lastUpdate: 0 };
    expect(decideBackOff(entry, { now: 14_999, finishedAt: 5000 }).inBackOff).toBe(true);
    expect(decideBackOff(entry, { now: 15_000, finishedAt: 5000 }).inBackOff).toBe(false);
  });

  test('a container that fails at once waits 10, 20, 40, 80, 160, 300 and 300 s', () => {
    let entry = decideBackOff(undefined, { now: 0, finishedAt: 0 }).entry;
    let finishedAt = 0;
    const waits: number[] = [];
    for (let restart = 0; restart < 7; restart++) {
      const waiting = decideBackOff(entry, { now: finishedAt, finishedAt });
      if (!waiting.inBackOff) throw new Error('no back-off');
      waits.push((waiting.nextRestartAt - finishedAt) / 1000);
      entry = decideBackOff(entry, { now: waiting.nextRestartAt, finishedAt }).entry;
      finishedAt = waiting.nextRestartAt;
    }
    expect(waits).toEqual([10, 20, 40, 80, 160, 300, 300]);
  });

  test('a failure more than 10 min after the last restart gets the first delay again', () => {
    const entry: BackOffEntry = { backOffMs: 300_000, lastUpdate: 1000 };
    const finishedAt = 601_001;
    const decision = decideBackOff(entry, { now: finishedAt, finishedAt });
    expect(decision).toEqual({ inBackOff: false, entry: { backOffMs: 10_000, lastUpdate: finishedAt } });
    expect(decideBackOff(entry, { now: 601_000, finishedAt: 601_000 }).inBackOff).toBe(true);
  });

  test('all three durations can be set', () => {
    const options = { initialMs: 100, maxMs: 150, expiryMs: 1000 };
    const first = decideBackOff(undefined, { now: 0, finishedAt: 0 }, options).entry;
    expect(first?.backOffMs).toBe(100);
    expect(decideBackOff(first, { now: 100, finishedAt: 0 }, options).entry?.backOffMs).toBe(150);
    expect(decideBackOff(first, { now: 1001, finishedAt: 1001 }, options).inBackOff).toBe(false);
  });
});

describe('nextBackOffEntry', () => {
  const OPTIONS = { initialMs: 10, maxMs: 35, expiryMs: 100 };
  const after = (entry: BackOffEntry | undefined, now: number) =>
    nextBackOffEntry(entry, { now, finishedAt: now }, OPTIONS);

  test('each failure doubles the wait, up to the maximum', () => {
    let entry = after(undefined, 0);
    const waits = [entry.backOffMs];
    for (let now = 40; waits.length < 4; now += 40) waits.push((entry = after(entry, now)).backOffMs);
    expect(waits).toEqual([10, 20, 35, 35]);
    expect(entry.lastUpdate).toBe(120);
  });

  test('a failure after the expiry gets the first delay again', () => {
    const entry = { backOffMs: 35, lastUpdate: 0 };
    expect([after(entry, 100).backOffMs, after(entry, 101).backOffMs]).toEqual([35, 10]);
  });
});

describe('keepBackOffEntry', () => {
  test('drops an entry that has not been updated for more than 10 min', () => {
    const entry = { backOffMs: 20_000, lastUpdate: 1000 };
    expect(keepBackOffEntry(entry, 601_000)).toBe(entry);
    expect(keepBackOffEntry(entry, 601_001)).toBeUndefined();
    expect(keepBackOffEntry(undefined, 601_001)).toBeUndefined();
  });
});

describe('backOffKey', () => {
  const web = { name: 'web', image: 'img' };

  test('another pod UID, container, image or resources give another key', () => {
    const otherPod = { ...POD, metadata: { ...POD.metadata, uid: 'other' } };
    const keys = [
      backOffKey(POD, web),
      backOffKey(otherPod, web),
      backOffKey(POD, { ...web, name: 'db' }),
      backOffKey(POD, { ...web, image: 'img:2' }),
      backOffKey(POD, { ...web, resources: { limits: { cpu: '1' } } }),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });

  test('other fields, and the order of fields in the manifest, do not count', () => {
    const one = { ...web, resources: { limits: { cpu: '1', memory: '1Gi' } } };
    const same = { ...web, resources: { limits: { memory: '1Gi', cpu: '1' } }, env: [{ name: 'A' }] };
    expect(backOffKey(POD, same)).toBe(backOffKey(POD, one));
  });
});

test.each([
  [10_000, '10s'],
  [80_000, '1m20s'],
  [300_000, '5m0s'],
  [3_600_000, '1h0m0s'],
  [1500, '1.5s'],
  [250, '250ms'],
])("the kubelet's message for %i ms has %s", (backOffMs, text) => {
  expect(crashLoopBackOffMessage(POD, 'web', backOffMs)).toBe(
    `back-off ${text} restarting failed container=web pod=pod_ns(uid)`,
  );
});

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
      reason = notMounted(reason, 'no space');
      return resyncDelayMs(reason, moment(0.5));
    });
    expect(delays).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 122_000, 122_000]);
    expect(notMounted({ kind: 'synced' }, 'busy')).toEqual({
      kind: 'notMounted',
      failures: 1,
      problem: 'busy',
    });
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
