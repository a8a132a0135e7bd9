import { expect, test } from '@jest/globals';
import { LastWarnings } from '../../src/run-once/last-warnings.ts';

const WEB = { name: 'web', namespace: 'default', uid: 'uid-web' };
const JOB = { name: 'job', namespace: 'default', uid: 'uid-job' };

function recorded() {
  const events: unknown[][] = [];
  const warnings = new LastWarnings({
    event: (...event) => events.push(event),
    nodeEvent: (...event) => events.push(event),
  });
  return { events, warnings };
}

test('of each pod the last warning is kept; normal events do not replace it', () => {
  const { warnings } = recorded();
  warnings.event(WEB, 'Warning', 'FailedMount', 'no such folder');
  warnings.event(WEB, 'Warning', 'Failed', 'no such image');
  warnings.event(WEB, 'Normal', 'Pulling', 'once more');
  warnings.event(JOB, 'Warning', 'BackOff', 'restarting');
  expect([warnings.of(WEB.uid), warnings.of(JOB.uid)]).toEqual([
    'Failed: no such image',
    'BackOff: restarting',
  ]);
  expect(warnings.of('another')).toBeUndefined();
});

test('every event is passed on unchanged', () => {
  const { events, warnings } = recorded();
  warnings.event(WEB, 'Warning', 'Failed', 'no such image', { container: 'main' });
  warnings.nodeEvent('Warning', 'SystemOOM', 'out of memory');
  expect(events).toEqual([
    [WEB, 'Warning', 'Failed', 'no such image', { container: 'main' }],
    ['Warning', 'SystemOOM', 'out of memory'],
  ]);
});
