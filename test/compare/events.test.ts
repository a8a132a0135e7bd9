import { expect, test } from '@jest/globals';
import { eventLines, type ObservedEvent } from '../../scripts/compare/events.ts';

const event = (reason: string, isAtEnd: boolean, container?: string): ObservedEvent => ({
  pod: 'default/a',
  type: 'Normal',
  reason,
  message: `text of ${reason}`,
  isAtEnd,
  ...(container !== undefined && { container }),
});
const lines = (...events: ObservedEvent[]) => Object.keys(eventLines(events, new Set(['bad']), []));

test('each event is a line, once, with its container', () => {
  expect(
    lines(event('Started', false, 'good'), event('Started', false, 'good'), event('Scheduled', false)),
  ).toEqual(['Normal Started of good: text of Started', 'Normal Scheduled: text of Scheduled']);
});

test('at the end of a pod, failed probes and restarting containers are left out', () => {
  expect(
    lines(event('Unhealthy', true, 'good'), event('Killing', true, 'bad'), event('Killing', true, 'good')),
  ).toEqual(['Normal Killing of good: text of Killing']);
});

test('before the end they are not', () => {
  expect(lines(event('Unhealthy', false, 'good'), event('Killing', false, 'bad'))).toHaveLength(2);
});
