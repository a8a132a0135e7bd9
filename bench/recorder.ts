/**
 * What the flight recorder costs: the CPU time of the process with it and without it in turns, while pods live and die on the
 * production agent at a steady rate. The runtime is simulated and costs next to nothing, so that the share of the recorder is as high as
 * it can be. `npm run bench:recorder -- [--rate 100] [--seconds 3] [--rounds 11]`.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { FlightRecorder, recordFolder } from '../src/server/record/flight-recorder.ts';
import { systemClock } from '../src/system/system-clock.ts';
import { median } from './support/measures.ts';
import { SteadyLives } from './support/steady-lives.ts';

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '11' },
  },
});
const [rate, seconds, rounds] = [values.rate, values.seconds, values.rounds].map(Number) as [
  number,
  number,
  number,
];

const rootDir = mkdtempSync(join(tmpdir(), 'statelet-bench-'));
const nothing = (): void => undefined;
const logger = { trace: nothing, debug: nothing, info: nothing, warn: console.warn, error: nothing };
const session = { program: 'bench', pid: process.pid, node: 'bench' };
const lives = new SteadyLives();
let transitions = 0;

/** CPU time for a life. */
async function round(isRecording: boolean): Promise<number> {
  const before = process.cpuUsage();
  const recorder = isRecording
    ? new FlightRecorder({ ...session, rootDir, sizeBytes: 64 * 2 ** 20, clock: systemClock, logger })
    : undefined;
  const end = recorder && lives.agent.transitions.subscribe(recorder.record);
  const count = await lives.run(rate, seconds);
  end?.();
  await recorder?.close();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

await lives.start();
for (const isRecording of [false, true, false, true]) await round(isRecording);
rmSync(recordFolder(rootDir), { recursive: true });
const [without, recorded, extra] = [[] as number[], [] as number[], [] as number[]];
const count = lives.agent.transitions;
for (let index = 0; index < rounds; index++) {
  // The order changes, so that what grows with time counts on both sides.
  const order = index % 2 === 0 ? [false, true] : [true, false];
  for (const isRecording of order) (isRecording ? recorded : without).push(await round(isRecording));
  extra.push((recorded.at(-1) ?? NaN) / (without.at(-1) ?? NaN) - 1);
}
const stop = count.subscribe(() => (transitions += 1));
const counted = await lives.run(rate, 1);
stop();
const files = readdirSync(recordFolder(rootDir)).map(
  (name) => statSync(join(recordFolder(rootDir), name)).size,
);
const bytes = files.reduce((sum, size) => sum + size, 0);
const perLife = transitions / counted;
const [base, all] = [median(without), median(recorded)];
process.stdout.write(
  [
    `${rate} lives a second, ${rounds} rounds of ${seconds} s with the recorder and without it; medians`,
    `CPU time of a life: ${base.toFixed(0)} µs without, ${all.toFixed(0)} µs with: ${((all / base - 1) * 100).toFixed(1)} % more`,
    `of the pairs of rounds: ${(median(extra) * 100).toFixed(1)} % more`,
    `transitions of a life: ${perLife.toFixed(1)}, each ${((all - base) / perLife).toFixed(2)} µs and ${(bytes / (rounds * seconds * rate * perLife)).toFixed(0)} bytes`,
    '',
  ].join('\n'),
);
rmSync(rootDir, { recursive: true });
process.exit(0);
