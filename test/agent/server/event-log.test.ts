import { expect, test } from '@jest/globals';
import { eventLog } from '../../../src/agent/server/event-log.ts';
import type { Logger } from '../../../src/types/logger.ts';

const MINUTE_MS = 60_000;
const POD = { name: 'web', namespace: 'default', uid: 'uid-1' };

function bed() {
  const lines: string[] = [];
  const write = (level: string) => (fields: object, message: string) =>
    void lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  const logger: Logger = {
    trace: write('trace'),
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  };
  const clock = { nowMs: 0 };
  return { lines, clock, events: eventLog(logger, () => clock.nowMs) };
}

test('an event has its pod and its reason; an event of the node has its reason', () => {
  const { lines, events } = bed();
  events.event(POD, 'Normal', 'Started', 'Started container main');
  events.nodeEvent('Normal', 'NodeHasDiskPressure', 'Node a status is now: NodeHasDiskPressure');
  expect(lines).toEqual([
    'info Started container main {"pod":"default/web","uid":"uid-1","reason":"Started"}',
    'info Node a status is now: NodeHasDiskPressure {"reason":"NodeHasDiskPressure"}',
  ]);
});

test('a repeated warning is logged, with its count, when the count has doubled, for each pod and for the node', () => {
  const { lines, clock, events } = bed();
  for (let i = 1; i <= 16; i += 1) {
    clock.nowMs += 10_000;
    events.event(POD, 'Warning', 'BackOff', 'Back-off restarting failed container');
    events.event({ ...POD, uid: 'uid-2' }, 'Warning', 'BackOff', 'Back-off restarting failed container');
    events.nodeEvent('Warning', 'EvictionThresholdMet', 'Attempting to reclaim memory');
  }
  const warnings = lines.filter((line) => line.startsWith('warn'));
  const countsOf = (what: string) =>
    warnings.filter((line) => line.includes(what)).map((line) => /"count":(\d+)/.exec(line)?.[1] ?? '1');
  expect(countsOf('uid-1')).toEqual(['1', '2', '4', '8', '16']);
  expect(countsOf('uid-2')).toEqual(['1', '2', '4', '8', '16']);
  expect(countsOf('EvictionThresholdMet')).toEqual(['1', '2', '4', '8', '16']);
  expect(lines).toHaveLength(3 * 16);
});

test('a repeated warning is logged every ten minutes at least', () => {
  const { lines, clock, events } = bed();
  const logged = () => lines.splice(0).filter((line) => line.startsWith('warn')).length;
  // Once in five minutes, so that it never becomes spam.
  for (let i = 0; i < 1_000; i += 1) {
    events.event(POD, 'Warning', 'Unhealthy', 'Readiness probe failed');
    clock.nowMs += 5 * MINUTE_MS;
  }
  logged();
  for (let i = 0; i < 10; i += 1) {
    events.event(POD, 'Warning', 'Unhealthy', 'Readiness probe failed');
    clock.nowMs += 5 * MINUTE_MS;
  }
  expect(logged()).toBe(5);
});

test('warnings that differ only in their message are combined from the tenth on', () => {
  const { lines, clock, events } = bed();
  for (let i = 1; i <= 30; i += 1) {
    clock.nowMs += 1_000;
    events.event(POD, 'Warning', 'Unhealthy', `refused after ${i} ms`);
  }
  const warnings = lines.filter((line) => line.startsWith('warn'));
  expect(warnings.slice(0, 9).every((line, i) => line.includes(`warn refused after ${i + 1} ms`))).toBe(true);
  expect(warnings.slice(9).map((line) => /^warn (.*) \{/.exec(line)?.[1])).toEqual([
    '(combined from similar events): refused after 10 ms',
    '(combined from similar events): refused after 11 ms',
    '(combined from similar events): refused after 13 ms',
    '(combined from similar events): refused after 17 ms',
    '(combined from similar events): refused after 25 ms',
  ]);
});

test('too many warnings about one pod are logged at debug level; warnings about other pods are not', () => {
  const { lines, events } = bed();
  for (let i = 1; i <= 40; i += 1) events.event(POD, 'Warning', `Reason${i}`, 'again');
  for (let i = 1; i <= 40; i += 1) events.event(POD, 'Warning', `Reason${i}`, 'again');
  events.event({ ...POD, uid: 'uid-2' }, 'Warning', 'Other', 'first');
  const repeated = lines.filter((line) => line.includes('"count":2'));
  expect(repeated).toHaveLength(40);
  expect(repeated.every((line) => line.startsWith('debug'))).toBe(true);
  expect(lines.at(-1)).toContain('warn first');
});

test('normal events are logged each time', () => {
  const { lines, events } = bed();
  for (let i = 0; i < 40; i += 1) events.event(POD, 'Normal', 'Pulled', 'Container image is there');
  expect(lines.filter((line) => line.startsWith('info'))).toHaveLength(40);
});
