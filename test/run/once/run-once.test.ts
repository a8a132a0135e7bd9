import { expect, test } from '@jest/globals';
import { delay, NEVER, of } from 'rxjs';
import { LastWarnings, readSources } from '../../../src/run/once/run-once.ts';
import type { SourceUpdate } from '../../../src/agent/sources/source.ts';
import { testPod } from '../../support/pods.ts';

/** Longer than any test. */
const long = () => 60_000;
const now = () => 0;

test('every source is read once: pods and problems come in the order of the sources', async () => {
  const problem = { source: 'http', file: 'http://host/', message: 'cannot be fetched' } as const;
  const file = of<SourceUpdate[]>(
    { pods: [testPod({ name: 'web' }), testPod({ name: 'job' })], problems: [] },
    { pods: [testPod({ name: 'later' })], problems: [] },
  );
  const { pods, problems } = await readSources({ file, http: of({ problems: [problem] }) }, now, long);
  expect(pods.map(({ metadata }) => metadata.name)).toEqual(['web', 'job']);
  expect(problems).toEqual([problem]);
});

test('a source that does not answer in time is a problem; the other sources have their own time', async () => {
  const file = of<SourceUpdate>({ pods: [testPod()], problems: [] });
  const { pods, problems } = await readSources({ file: file.pipe(delay(20)), http: NEVER }, now, (source) =>
    source === 'http' ? 1 : long(),
  );
  expect(pods).toHaveLength(1);
  expect(problems).toEqual([{ source: 'http', message: 'did not answer within 1ms' }]);
});

test('the order of the sources does not depend on which is read first', async () => {
  const file = of<SourceUpdate>({ pods: [testPod({ name: 'first' })], problems: [] }).pipe(delay(1));
  const http = of<SourceUpdate>({ pods: [testPod({ name: 'second' })], problems: [] });
  const { pods } = await readSources({ file, http }, now, long);
  expect(pods.map(({ metadata }) => metadata.name)).toEqual(['first', 'second']);
});

test('a source without pods has none', async () => {
  expect(await readSources({ file: of({ pods: [], problems: [] }) }, now, long)).toEqual({
    pods: [],
    problems: [],
  });
});

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
