/**
 * What the flight recorder and an open page cost: the CPU time of the process with each, with both and without, in turns, while pods live
 * and die on the production agent at a steady rate. The runtime is simulated and costs next to nothing, so that their share is as
 * high as it can be. The page is that of the node, with the table of its pods, and another process reads it.
 * `npm run bench:recorder -- [--rate 100] [--seconds 2] [--rounds 11] [--quick]`.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pageSource } from '../src/run/daemon/serve-page.ts';
import { FlightRecorder, recordFolder } from '../src/recorder/flight-recorder.ts';
import { RecentEvents } from '../src/agent/server/recent-events.ts';
import { pageRoutes, startPageServer } from '../src/page/server/page-server.ts';
import { systemClock } from '../src/system/timer.ts';
import { median } from './support/measures.ts';
import { benchOptions } from './support/options.ts';
import { readPage } from './support/page-reader.ts';
import { pause, SteadyLives } from './support/steady-lives.ts';
import { type Compared, printTable } from './support/table.ts';
import { testContext } from '../test/support/test-context.ts';

const { rate, seconds, rounds } = benchOptions(
  {
    rate: { usual: 100, quick: 100 },
    seconds: { usual: 2, quick: 1 },
    rounds: { usual: 11, quick: 3 },
  },
  {},
);
const WARM_UP_ROUNDS = 2;
/** What was under way is done, and the page has got its first rows. */
const SETTLE_MS = 400;

const rootDir = mkdtempSync(join(tmpdir(), 'statelet-bench-'));
const nothing = (): void => undefined;
const logger = { trace: nothing, debug: nothing, info: nothing, warn: console.warn, error: nothing };
const lives = new SteadyLives();
const { agent } = lives;
const context = testContext({ clock: systemClock, logger });
const session = { program: 'bench', pid: process.pid, node: 'bench' };
const recorder = new FlightRecorder(context, session, rootDir, 64 * 2 ** 20);
const events = new RecentEvents({
  nodeName: 'bench',
  now: () => systemClock.now(),
  podOf: () => undefined,
});
const server = await startPageServer({
  host: '127.0.0.1',
  port: 0,
  flag: '',
  routes: pageRoutes(() => Promise.resolve(pageSource(context, { agent, events }))),
  logger,
});

const MODES = {
  without: { records: false, shows: false },
  recorder: { records: true, shows: false },
  page: { records: false, shows: true },
  both: { records: true, shows: true },
};
type Mode = keyof typeof MODES;
const NAMES = Object.keys(MODES) as Mode[];

/** CPU time for a life, in µs. */
async function round(mode: Mode): Promise<number> {
  const { records, shows } = MODES[mode];
  const end = records ? agent.transitions.subscribe(recorder.record) : undefined;
  const page = shows ? await readPage(`${server.url}ui/overview`) : undefined;
  await pause(SETTLE_MS);
  const before = process.cpuUsage();
  const count = await lives.run(rate, seconds);
  const { user, system } = process.cpuUsage(before);
  end?.();
  await page?.close();
  return (user + system) / count;
}

await lives.start();
const costs: Record<Mode, number[]> = { without: [], recorder: [], page: [], both: [] };
for (let index = -WARM_UP_ROUNDS; index < rounds; index++) {
  // The order changes, so that growth over time affects all modes alike.
  for (const mode of index % 2 === 0 ? NAMES : NAMES.toReversed()) {
    const cost = await round(mode);
    if (index >= 0) costs[mode].push(cost);
  }
}
const bytes = readdirSync(recordFolder(rootDir))
  .map((name) => statSync(join(recordFolder(rootDir), name)).size)
  .reduce((sum, size) => sum + size, 0);
let transitions = 0;
const stop = agent.transitions.subscribe(() => (transitions += 1));
const perLife = (await lives.run(rate, 1).then((lived) => transitions / lived)) || NaN;
stop();

const base = median(costs.without);
const beside = 'without both';
/** Compares each round with the one without both beside it: the machine's speed changes between rounds. */
const ratio = (mode: Mode) => median(costs[mode].map((cost, index) => cost / (costs.without[index] ?? NaN)));
const row = (mode: Mode): Compared => ({ figure: ratio(mode) * base, beside, itsFigure: base });
const recordedLives = 2 * (rounds + WARM_UP_ROUNDS) * seconds * rate;
process.stdout.write(
  [
    `${rate} lives a second, ${rounds} rounds of ${seconds} s each; CPU time of a life, median`,
    `transitions of a life: ${perLife.toFixed(1)}; with the recorder each ${((median(costs.recorder) - base) / perLife).toFixed(2)} µs and ${(bytes / (recordedLives * perLife)).toFixed(0)} bytes`,
    '',
  ].join('\n'),
);
printTable({
  'with the recorder (µs)': row('recorder'),
  'with an open page (µs)': row('page'),
  'with both (µs)': row('both'),
});
await recorder.close();
rmSync(rootDir, { recursive: true });
process.exit(0);
