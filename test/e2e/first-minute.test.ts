/** README.md shows the real output of the first minute. */
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { shownFirstMinute, startFirstMinute, timeless, withFirstMinute } from '../support/first-minute.ts';
import { waitFor } from '../support/wait-for.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const MEND = 'if it prints something else now: npm run update:readme';

/** The heading of a table, and each pod with the lines that say more about it. */
const partsOf = (table: string) =>
  timeless(table)
    .trimEnd()
    .split(/\n(?! )/u);
const namesIn = (parts: readonly string[]) => parts.map((part) => part.split('  ')[1]).join();

test('README.md shows what npm start shows on a terminal', async () => {
  const shown = shownFirstMinute(readme);
  expect(shown.log.length).toBeGreaterThan(5);
  const run = startFirstMinute();
  try {
    const wanted = partsOf(shown.pods);
    const seen = new Set<string>();
    // On a slow machine the pods are not all at once as README shows them: one back-off may end before the other begins.
    const isShown = () => {
      const parts = partsOf(run.pods());
      for (const part of parts) seen.add(part);
      return namesIn(parts) === namesIn(wanted) && wanted.every((part) => seen.has(part));
    };
    await waitFor(isShown, { what: `the pods as in this table; ${MEND}\n${shown.pods}` });
    for (const line of shown.log)
      await waitFor(() => run.log().map(timeless).includes(timeless(line)), { what: `"${line}"; ${MEND}` });
  } finally {
    await run.end();
  }
});

test('an output that is written into README.md is read from it unchanged', () => {
  const log = ['Hello', 'to stop:    Ctrl-C', '12:00:01.000 INFO: default/x-node1: y'];
  expect(shownFirstMinute(withFirstMinute(readme, log, 'NAME\nx\n'))).toEqual({ log, pods: 'NAME\nx\n' });
});
