/** README.md shows the real output of the first minute. */
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { shownFirstMinute, startFirstMinute, timeless, withFirstMinute } from '../support/first-minute.ts';
import { waitFor } from '../support/wait-for.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const MEND = 'if it prints something else now: npm run update:readme';
/** Long, as each check starts a process. */
const PAUSE_MS = 500;

test('README.md shows what npm start shows on a terminal', async () => {
  const shown = shownFirstMinute(readme);
  expect(shown.log.length).toBeGreaterThan(5);
  const run = startFirstMinute();
  try {
    for (const line of shown.log)
      await waitFor(() => run.log().map(timeless).includes(timeless(line)), { what: `"${line}"; ${MEND}` });
    await waitFor(() => timeless(run.pods()) === timeless(shown.pods), {
      what: `this table; ${MEND}\n${shown.pods}`,
      pauseMs: PAUSE_MS,
    });
  } finally {
    await run.end();
  }
});

test('an output that is written into README.md is read from it unchanged', () => {
  const log = ['Hello', 'to stop:    Ctrl-C', '12:00:01.000 INFO: default/x-node1: y'];
  expect(shownFirstMinute(withFirstMinute(readme, log, 'NAME\nx\n'))).toEqual({ log, pods: 'NAME\nx\n' });
});
