/**
 * How long it takes to choose victims for a critical pod that lacks three resources, among 1,000 and 10,000 pods. For
 * comparison, in the same process: sorting the same number of pods by memory request, and the simplest form of the choice,
 * which computes every request again each time. `node bench/preemption.ts [--runs N]`.
 */
import { parseArgs } from 'node:util';
import { selectVictims } from '../src/agent/policies/preemption/victims.ts';
import { resourceRequest } from '../src/agent/policies/pod/resources.ts';
import type { Pod } from '../src/types/kubernetes.ts';
import { plainVictims } from '../test/support/preemption-reference.ts';
import { median } from './support/measures.ts';
import { CRITICAL_POD, fullNode, missingFor } from './support/preemption-pods.ts';

/** The critical pod lacks the requests of this number of average pods. */
const SIZES = [1, 10, 100];
/** Runs before the measurement, so that the code is compiled. The simple choice is too slow for the same number of runs. */
const WARM_UP_RUNS = 10;
const PLAIN_RUNS = 3;

const { values } = parseArgs({ options: { runs: { type: 'string', default: '50' } } });
const runs = Number(values.runs);

function timeMs(work: () => unknown): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}

function medianMs(times: number, work: () => unknown): number {
  return median(Array.from({ length: times }, () => timeMs(work)));
}

function facts(pods: readonly Pod[], size: number) {
  return { preemptor: CRITICAL_POD, pods, missing: missingFor(pods, size), lowerPriorityFirst: true };
}

function sortByMemory(pods: readonly Pod[]): unknown {
  return pods
    .map((pod) => ({ pod, memory: resourceRequest(pod, 'memory') }))
    .sort((a, b) => Number(a.memory - b.memory));
}

function row(count: number, size: number): string {
  const pods = fullNode(count);
  const choice = facts(pods, size);
  const choose = () => selectVictims(choice);
  const sort = () => sortByMemory(pods);
  for (const work of [choose, sort]) medianMs(WARM_UP_RUNS, work);
  const [choiceMs, sortMs] = [medianMs(runs, choose), medianMs(runs, sort)];
  const plainMs = medianMs(PLAIN_RUNS, () => plainVictims(CRITICAL_POD, pods, choice.missing));
  return line([
    String(count),
    String(choose().victims.length),
    `${choiceMs.toFixed(2)} ms`,
    `${sortMs.toFixed(2)} ms`,
    (choiceMs / sortMs).toFixed(1),
    `${plainMs.toFixed(2)} ms`,
    (choiceMs / plainMs).toFixed(2),
  ]);
}

const line = (cells: readonly string[]) => `${cells.map((cell) => cell.padStart(14)).join('')}\n`;

const first = facts(fullNode(10_000), 10);
const firstMs = timeMs(() => selectVictims(first)).toFixed(0);
process.stdout.write(`choosing victims for three missing resources; median of ${runs} runs\n`);
process.stdout.write(
  `the first of all, among 10,000 pods, while its code is being compiled: ${firstMs} ms\n\n`,
);
process.stdout.write(line(['pods', 'victims', 'a choice', 'a sort', 'of the sort', 'plain', 'of the plain']));
for (const count of [1_000, 10_000]) for (const size of SIZES) process.stdout.write(row(count, size));
