/** `statelet simulate`: whole nodes under a virtual clock, checked against the invariants of docs/lifecycle.md. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { parseDuration } from '../agent/policies/formats/duration.ts';
import { DRIVER_KINDS } from '../simulation/drivers/driver-kinds.ts';
import { ALL_FAULTS } from '../simulation/plan/fault-kinds.ts';
import { countOperations, type PlanOptions } from '../simulation/plan/plan.ts';
import { shrink } from '../simulation/plan/shrink.ts';
import {
  simulate as runSimulation,
  type SimulationOptions,
  type SimulationResult,
} from '../simulation/simulation.ts';
import { bareStreams } from '../system/terminal.ts';
import { StateletError } from '../types/errors.ts';
import { Progress } from './progress.ts';

export interface SimulateFlags {
  readonly seed: string;
  readonly nodes: string;
  readonly pods: string;
  readonly hours: string;
  readonly faults: string;
  readonly drivers: string;
  readonly only?: string;
  readonly history?: string;
  readonly shrink?: true;
  readonly runs: string;
  readonly for?: string;
}

type Print = (text: string) => void;

/** Seeds are whole numbers of 32 bits. */
const MAX_SEED = 2 ** 32 - 1;
const HOUR_MS = 3_600_000;

/** Limits of a run: each pod name takes memory, and each hour of a pod name takes time. */
const MAX_POD_NAMES = 10_000;
const MAX_POD_HOURS = 1_000_000;

/** Rejects if an invariant is violated, after it has printed everything about the violation. */
export async function simulate(
  flags: SimulateFlags,
  print: Print,
  run = runSimulation,
  progress = new Progress(bareStreams.stderr),
): Promise<void> {
  const first = options(flags);
  const runs = wholeNumber('--runs', flags.runs, 1);
  const limitMs = flags.for === undefined ? undefined : duration('--for', flags.for);
  const began = Date.now();
  const hasMore = (done: number) => (limitMs === undefined ? done < runs : Date.now() - began < limitMs);
  for (let done = 0; done === 0 || hasMore(done); done++) {
    await runOne({ ...first, seed: (first.seed + done) % (MAX_SEED + 1) }, { flags, print, run, progress });
    // Lets the process handle Ctrl-C.
    await turn();
  }
}

interface RunContext {
  readonly flags: SimulateFlags;
  readonly print: Print;
  readonly run: typeof runSimulation;
  readonly progress: Progress;
}

async function runOne(
  simulation: SimulationOptions,
  { flags, print, run, progress }: RunContext,
): Promise<void> {
  const began = Date.now();
  const onProgress = (elapsedMs: number) => progress.tell(() => passed(simulation, elapsedMs));
  const result = await withHistory(flags.history, (onLine) => run({ ...simulation, onProgress, onLine }));
  progress.clear();
  const seconds = ((Date.now() - began) / 1000).toFixed(1);
  print(summary(simulation, result, seconds));
  if (result.violation === undefined) return;
  print(violation(simulation, result));
  if (flags.shrink) {
    print('Shrinking …\n');
    const shrunk = await shrink(simulation, result, {
      run,
      onRun: (runs, left) => progress.tell(() => shrinking(runs, left)),
    });
    progress.clear();
    print(
      `After ${String(shrunk.runs)} more simulations, this is left:\n${violation(shrunk.options, shrunk.result)}`,
    );
  }
  throw new StateletError('Internal', `seed ${String(simulation.seed)}: an invariant was violated`);
}

function passed({ seed, hours }: SimulationOptions, elapsedMs: number): string {
  const passedHours = elapsedMs / HOUR_MS;
  if (passedHours >= hours) return `seed ${String(seed)}: waiting for the pods to settle`;
  const percent = Math.floor((100 * passedHours) / hours);
  return `seed ${String(seed)}: ${passedHours.toFixed(1)} of ${count(hours, 'hour')} (${String(percent)}%)`;
}

const shrinking = (runs: number, operations: number): string =>
  `shrinking: ${count(operations, 'operation')} left after ${count(runs, 'simulation')}`;

async function withHistory<T>(
  path: string | undefined,
  work: (onLine?: (line: string) => void) => Promise<T>,
): Promise<T> {
  if (path === undefined) return work();
  const file = openHistory(path);
  try {
    return await work((line) => writeLine(file, line));
  } finally {
    closeSync(file);
  }
}

function writeLine(file: number, line: string): void {
  try {
    writeSync(file, `${line}\n`);
  } catch (error) {
    throw new StateletError('Internal', `--history: ${(error as Error).message}`);
  }
}

function openHistory(path: string): number {
  try {
    return openSync(path, 'w');
  } catch (error) {
    throw new StateletError('InvalidArgument', `--history: ${(error as Error).message}`);
  }
}

function summary(
  { seed, nodes, pods, hours }: SimulationOptions,
  result: SimulationResult,
  seconds: string,
): string {
  const { operations, podsEnded, starts, kills, preempted, rejected, agentsKilled, calls, failures } =
    result.tally;
  const verdict = result.violation === undefined ? 'I1-I10 hold' : `VIOLATED ${result.violation.invariant}`;
  const size = `${count(nodes, 'node')}, ${count(pods, 'pod name')} each, ${count(hours, 'hour')} in ${seconds} s`;
  const what = [
    count(operations, 'operation'),
    `${count(starts, 'container')} started`,
    `${count(podsEnded, 'pod')} ended`,
    count(kills, 'kill'),
    `${String(preempted)} preempted`,
    evictions(result.tally),
    `${String(result.tally.chosenByPlugins)} chosen by plugins`,
    `${String(result.tally.devicesAsked)} given devices`,
    `${String(result.tally.pinned)} given CPUs`,
    `${String(result.tally.volumesPublished)} given volumes`,
    `${String(result.tally.claimsPrepared)} claims prepared`,
    `${String(rejected)} rejected`,
    `${count(agentsKilled, 'agent')} killed`,
    `${String(failures)} of ${count(calls, 'call')} failed`,
  ].join(', ');
  return `seed ${String(seed)}: ${verdict}; ${size}\n  ${what}\n  history: ${count(result.lines, 'line')}, sha256 ${result.digest}\n`;
}

function evictions({ evicted, ...tally }: SimulationResult['tally']): string {
  const causes = [
    `${String(tally.evictedForDisk)} for disk`,
    `${String(tally.evictedForPIDs)} for process IDs`,
    `${String(tally.evictedForLimits)} for their limits`,
  ];
  return `${String(evicted)} evicted${evicted > 0 ? ` (${causes.join(', ')})` : ''}`;
}

const count = (number: number, what: string): string => `${String(number)} ${what}${number === 1 ? '' : 's'}`;

function violation(
  simulation: SimulationOptions,
  { violation: violated, story, operations }: SimulationResult,
): string {
  if (violated === undefined) return '';
  const { invariant, node, name, uid, what } = violated;
  const who = [`node-${String(node)}`, name, uid].filter((part) => part !== undefined).join(' ');
  const lines = story.map((line) => `  ${line}\n`).join('');
  const replay = replayCommand({ ...simulation, only: simulation.only ?? operations });
  return `${invariant} violated: ${who}: ${what}\n\nThe history of this pod:\n${lines}\nReplay:\n  ${replay}\n`;
}

function replayCommand({ seed, nodes, pods, hours, faults, drivers = [], only }: SimulationOptions): string {
  const kinds = faults.length === ALL_FAULTS.length ? 'all' : faults.join() || 'none';
  const size = `--seed ${String(seed)} --nodes ${String(nodes)} --pods ${String(pods)} --hours ${String(hours)}`;
  const own = drivers.length > 0 ? ` --drivers ${drivers.join()}` : '';
  return `statelet simulate ${size} --faults ${kinds}${own}${only ? ` --only ${formatOperations(only)}` : ''}`;
}

function options(flags: SimulateFlags): SimulationOptions {
  const plan = {
    seed: wholeNumber('--seed', flags.seed, 0, MAX_SEED),
    nodes: wholeNumber('--nodes', flags.nodes, 1),
    pods: wholeNumber('--pods', flags.pods, 1),
    hours: hours(flags.hours),
  };
  checkSize(plan);
  const { only } = flags;
  return {
    ...plan,
    faults: chosen('--faults', flags.faults, ALL_FAULTS),
    drivers: chosen('--drivers', flags.drivers, DRIVER_KINDS),
    ...(only !== undefined && { only: parseOperations(only, () => countOperations(plan)) }),
  };
}

function checkSize({ nodes, pods, hours }: PlanOptions): void {
  const names = nodes * pods;
  const size = `${count(nodes, 'node')} with ${count(pods, 'pod name')} each`;
  if (names > MAX_POD_NAMES)
    throw tooMuch(
      '--nodes, --pods',
      `${size} are ${String(names)} pod names; at most ${String(MAX_POD_NAMES)}`,
    );
  const most = MAX_POD_HOURS / names;
  if (hours > most)
    throw tooMuch(
      '--hours',
      `for ${size} at most ${String(Math.floor(most))} hours can be simulated at once`,
    );
}

const tooMuch = (flags: string, what: string): StateletError =>
  new StateletError('InvalidArgument', `${flags}: ${what}`);

const list = (text: string): string[] => text.split(',').filter((part) => part !== '');

function wholeNumber(flag: string, text: string, min: number, max = Number.MAX_SAFE_INTEGER): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  const range = max < Number.MAX_SAFE_INTEGER ? `to ${String(max)}` : 'on';
  throw new StateletError(
    'InvalidArgument',
    `${flag}: "${text}" is not a whole number from ${String(min)} ${range}`,
  );
}

function hours(text: string): number {
  const value = Number(text);
  if (/^(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?$/i.test(text) && Number.isFinite(value) && value > 0)
    return value;
  throw new StateletError('InvalidArgument', `--hours: "${text}" is not a number above 0, such as 0.5`);
}

function duration(flag: string, text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms > 0) return ms;
  throw new StateletError('InvalidArgument', `${flag}: "${text}" is not a duration such as 30s, 10m or 1h`);
}

function chosen<Name extends string>(flag: string, text: string, all: readonly Name[]): readonly Name[] {
  if (text === 'all') return all;
  if (text === 'none') return [];
  return list(text).map((name) => {
    const known = all.find((one) => one === name);
    if (known !== undefined) return known;
    const choices = ['all', 'none', ...all].join(', ');
    throw new StateletError('InvalidArgument', `${flag}: there is no "${name}"; choose from ${choices}`);
  });
}

/** At least this many numbers in a row are written as a range. */
const MIN_RANGE = 3;

/** Reads numbers of operations in the notation of `--only`: `1,4-17`. `count` returns how many operations there are. */
export function parseOperations(text: string, count: () => number): readonly number[] {
  const ranges = text
    .split(',')
    .filter((part) => part !== '')
    .map(range);
  const last = Math.max(0, ...ranges.map(([, to]) => to));
  const most = last === 0 ? 0 : count();
  if (last > most)
    throw invalid(`there is no operation ${String(last)}; the plan has ${String(most)} operations`);
  return ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
}

function range(part: string): readonly [from: number, to: number] {
  const [, from, to = from] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? [];
  if (from === undefined)
    throw invalid(`"${part}" is not a whole number from 0 on, nor a range such as 4-17`);
  if (Number(from) > Number(to)) throw invalid(`"${part}" ends before it begins`);
  return [Number(from), Number(to)];
}

const invalid = (what: string): StateletError => new StateletError('InvalidArgument', `--only: ${what}`);

/** The reverse. `numbers` are in ascending order. An empty list is written as 0, which no operation has. */
export function formatOperations(numbers: readonly number[]): string {
  const parts: string[] = [];
  for (let from = 0; from < numbers.length;) {
    let to = from;
    while (numbers[to + 1] === (numbers[to] ?? 0) + 1) to += 1;
    const row = numbers.slice(from, to + 1).map(String);
    parts.push(...(row.length < MIN_RANGE ? row : [`${String(row[0])}-${String(row.at(-1))}`]));
    from = to + 1;
  }
  return parts.join() || '0';
}
