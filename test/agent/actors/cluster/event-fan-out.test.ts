import { expect, test } from '@jest/globals';
import { EventFanOut } from '../../../../src/agent/actors/cluster/event-fan-out.ts';

test('every recorder gets every event, also one that was added', () => {
  const seen: unknown[][] = [];
  const recorder = (name: string) => ({
    event: (...event: unknown[]) => void seen.push([name, ...event]),
    nodeEvent: (...event: unknown[]) => void seen.push([name, ...event]),
  });
  const both = new EventFanOut(recorder('log'));
  both.add(recorder('api'));
  const pod = { name: 'web', namespace: 'default', uid: 'u' };
  both.event(pod, 'Normal', 'Started', 'Container started', { container: 'main' });
  both.nodeEvent('Normal', 'Starting', 'Starting');
  expect(seen).toEqual([
    ['log', pod, 'Normal', 'Started', 'Container started', { container: 'main' }],
    ['api', pod, 'Normal', 'Started', 'Container started', { container: 'main' }],
    ['log', 'Normal', 'Starting', 'Starting'],
    ['api', 'Normal', 'Starting', 'Starting'],
  ]);
});
