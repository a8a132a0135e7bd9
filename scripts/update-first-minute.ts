/** Writes the output of `npm start` into README.md. `test/e2e/first-minute.test.ts` fails when that is stale. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isWorthShowing, startFirstMinute, withFirstMinute } from '../test/support/first-minute.ts';
import { waitFor } from '../test/support/wait-for.ts';

const README = fileURLToPath(new URL('../README.md', import.meta.url));
const PAUSE_MS = 500;

const run = startFirstMinute();
try {
  const what = 'the daemon to print something';
  await waitFor(() => run.log().length > 0, { what });
  const pods = await waitFor(
    () => {
      const text = run.pods();
      return isWorthShowing(text) && text;
    },
    { what: 'the pods to be where README shows them', pauseMs: PAUSE_MS },
  );
  writeFileSync(README, withFirstMinute(readFileSync(README, 'utf8'), run.log(), pods));
} finally {
  await run.end();
}
