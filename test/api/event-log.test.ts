import { expect, test } from '@jest/globals';
import { eventLog } from '../../src/api/event-log.ts';
import type { Logger } from '../../src/types/logger.ts';

const MINUTE_MS = 60_000;
const POD = { name: 'web', namespace: 'default', uid: 'uid-1' };

function bed() {
  const lines: string[] = [];
  const write = (level: string) => (fields: object, message: string) =>
    void lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  const logger: Logger = {
    ...{ trace: write('trace'), debug: write('debug'), info: write('info') },
    ...{ warn: write('warn'), error: write('error') },
  };
  const clock = { nowMs: 0 };
  return { lines, clock, events: eventLog(logger, () => clock.nowMs) };
}

test('an event names its pod and its reason; one on the node its reason', () => {
  const { lines, events } = bed();
  events.event(POD, 'Normal', 'Started', 'Started container main');
  events.nodeEvent('Normal', 'NodeHasDiskPressure', 'Node a status is now: NodeHasDiskPressure');
  expect(lines).toEqual([
    'info Started container main {"pod":"default/web","uid":"uid-1","reason":"Started"}',
    'info Node a status is now: NodeHasDiskPressure {"reason":"NodeHasDiskPressure"}',
  ]);
});

test('a warning that comes again within ten minutes is no news, whomever it is about', () => {
  const { lines, clock, events } = bed();
  const levels = () => lines.splice(0).map((line) => line.split(' ')[0]);
  const warn = () => {
    events.event(POD, 'Warning', 'BackOff', 'Back-off restarting failed container');
    events.event({ ...POD, uid: 'uid-2' }, 'Warning', 'BackOff', 'Back-off restarting failed container');
    events.nodeEvent('Warning', 'EvictionThresholdMet', 'Attempting to reclaim memory');
    return levels();
  };
  expect(warn()).toEqual(['warn', 'warn', 'warn']);
  clock.nowMs = 9 * MINUTE_MS;
  expect(warn()).toEqual(['debug', 'debug', 'debug']);
  clock.nowMs = 19 * MINUTE_MS;
  expect(warn()).toEqual(['warn', 'warn', 'warn']);
});
