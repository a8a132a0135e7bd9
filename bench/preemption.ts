/**
 * How long it takes to choose victims for a critical pod that lacks three resources, among 1,000 and 10,000 pods. For
 * comparison, in the same process: sorting the same number of pods by memory request, and the simplest form of the choice,
 * which computes every request again each time. `node bench/preemption.ts [--runs N] [--quick]`.
 */
import { selectVictims } from '../src/agent/policies/preemption/victims.ts';
import { resourceRequest } from '../src/agent/policies/pod/resources.ts';
import type { Pod } from '../src/types/kubernetes.ts';
import { plainVictims } from '../test/support/preemption-reference.ts';
import { medianMs, timeMs } from './support/measures.ts';
import { benchOptions } from './support/options.ts';
import { CRITICAL_POD, fullNode, missingFor } from './support/preemption-pods.ts';
import { type Compared, printTable } from './support/table.ts';

/** The critical pod lacks the requests of this number of average pods. */
const SIZES = [1, 10, 100];
/** Runs before the measurement, so that the code is compiled. The simple choice is too slow for the same number of runs. */
const WARM_UP_RUNS = 10;
const PLAIN_RUNS = 3;

const { runs } = benchOptions({ runs: { usual: 50, quick: 10 } }, {});

function facts(pods: readonly Pod[], size: number) {
  return { preemptor: CRITICAL_POD, pods, missing: missingFor(pods, size), lowerPriorityFirst: true };
}

function sortByMemory(pods: readonly Pod[]): unknown {
  return pods
    .map((pod) => ({ pod, memory: resourceRequest(pod, 'memory') }))
    .sort((a, b) => Number(a.memory - b.memory));
}

function rowsOf(count: number, size: number): Record<string, Compared> {
  const pods = fullNode(count);
  const choice = facts(pods, size);
  const choose = () => selectVictims(choice);
  const sort = () => sortByMemory(pods);
  for (const work of [choose, sort]) medianMs(WARM_UP_RUNS, work);
  const [figure, sortMs] = [medianMs(runs, choose), medianMs(runs, sort)];
  const plainMs = medianMs(PLAIN_RUNS, () => plainVictims(CRITICAL_POD, pods, choice.missing));
  const name = `${count} pods, ${choose().victims.length} victims`;
  return {
    [`${name}, beside a sort (ms)`]: { figure, beside: 'a sort of as many', itsFigure: sortMs },
    [`${name}, beside the simplest choice (ms)`]: {
      figure,
      beside: 'the simplest choice',
      itsFigure: plainMs,
    },
  };
}

const first = facts(fullNode(10_000), 10);
const firstMs = timeMs(() => selectVictims(first)).toFixed(0);
const rows = [1_000, 10_000].flatMap((count) => SIZES.map((size) => rowsOf(count, size)));
process.stdout.write(`choosing victims for three missing resources; median of ${runs} runs\n`);
process.stdout.write(
  `the first of all, among 10,000 pods, while its code is being compiled: ${firstMs} ms\n`,
);
printTable(Object.assign({}, ...rows) as Record<string, Compared>);
