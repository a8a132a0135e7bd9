/** Eviction, broken. */
import type { Mutant } from './mutant.ts';

const CHART = 'src/agent/machines/eviction-machine.ts';
const MANAGER = 'src/agent/actors/eviction/eviction-manager.ts';
const PODS = 'src/agent/actors/eviction/eviction-pods.ts';
const WATCH = 'src/agent/actors/eviction/eviction-watch.ts';
const PASS = 'src/agent/policies/eviction/pass.ts';
const RANKING = 'src/agent/policies/eviction/ranking.ts';
const CONDITIONS = 'src/agent/policies/eviction/node-pressure.ts';

export const EVICTION_MUTANTS: readonly Mutant[] = [
  {
    name: 'critical-evicted',
    breaks: 'Critical pods are evicted (eviction)',
    file: PASS,
    find: `      !candidate.isCritical &&`,
    replace: `      candidate.uid !== '' &&`,
  },
  {
    name: 'idle-evicted',
    breaks: 'A pod that does not run yet is evicted before those that use the memory (eviction)',
    file: MANAGER,
    find: `measured.has(uid) || ending.has(uid);`,
    replace: `measured.has(uid) || ending.size >= 0;`,
  },
  {
    name: 'evicted-beside-ending',
    breaks: 'A pod is evicted though another one is about to end (eviction)',
    file: PASS,
    find: `victim: awaited.length > 0 ? undefined : first };`,
    replace: `victim: awaited.length > 0 && ending.size < 0 ? undefined : first };`,
  },
  {
    name: 'stale-figures',
    breaks: 'The victim is chosen by figures that are older than the choice (eviction)',
    file: MANAGER,
    find: `      const summary = await stats.summary(FIGURES_FOR[shortage.resource]);`,
    replace: `      const kept = this.#options as { summary?: Summary };
      const summary = (kept.summary ??= await stats.summary(FIGURES_FOR[shortage.resource]));`,
  },
  {
    name: 'lower-priority-last',
    breaks: 'Of the pods that use more than they request, the most important one is evicted first (eviction)',
    file: RANKING,
    find: `    a.priority - b.priority ||
    b.overRequest - a.overRequest
  );`,
    replace: `    b.priority - a.priority ||
    b.overRequest - a.overRequest
  );`,
  },
  {
    name: 'cleanup-not-awaited',
    breaks: 'The node is measured again before the evicted pod has been cleaned up (eviction)',
    file: CHART,
    find: `              { guard: 'isLastAwaited', actions: ['recordEnd'], target: 'CleaningUp' },`,
    replace: `              { guard: 'isLastAwaited', actions: ['recordEnd'], target: 'Observing' },`,
  },
  {
    name: 'evicted-not-killed',
    breaks: 'A pod is said to be evicted, and is not ended (I9)',
    file: PODS,
    find: `    const isKnown = registry.kill(pod.uid, kill);`,
    replace: `    const isKnown = registry.get(pod.uid) !== undefined && kill.evict === true;`,
  },
  {
    name: 'look-forgets',
    breaks: 'What is not measured counts as plentiful (eviction)',
    file: PASS,
    find: `isPartial ? new Map([...state.observations, ...observed]) : observed;`,
    replace: `isPartial ? new Map(observed) : observed;`,
  },
  {
    name: 'memory-waits-for-disk',
    breaks: 'Memory that becomes short waits for what is being removed from the disk (eviction)',
    file: CHART,
    find: `            description: 'Memory has become short, and does not wait for the removal',
            guard: 'isMemoryDue',`,
    replace: `            description: 'Memory has become short, and does not wait for the removal',
            guard: 'isObserving',`,
  },
  {
    name: 'memory-report-lost',
    breaks: 'Memory that becomes short while everything is measured is forgotten (eviction)',
    file: CHART,
    find: `            MEMORY_SHORT: { actions: ['beginDoubt'], target: '.Due' },`,
    replace: `            MEMORY_SHORT: { actions: ['beginDoubt'] },`,
  },
  {
    name: 'everything-once',
    breaks: 'Everything is measured once, and then memory alone (eviction)',
    file: CHART,
    find: `              always: { guard: 'isObserving', target: 'Waiting' },`,
    replace: `              always: { guard: 'isMemoryDue', target: 'Waiting' },`,
  },
  {
    name: 'memory-unheard',
    breaks: 'What the watch of memory tells is not sent (eviction)',
    file: WATCH,
    find: `send({ type: isBelow ? 'MEMORY_SHORT' : 'MEMORY_ENOUGH' }),`,
    replace: `isBelow ? undefined : send({ type: 'MEMORY_ENOUGH' }),`,
  },
  {
    name: 'pressure-stuck',
    breaks: 'A condition of pressure holds for ever (eviction)',
    file: CONDITIONS,
    find: `nowMs - lastMs < transitionPeriodMs;`,
    replace: `nowMs - lastMs >= 0 && transitionPeriodMs > 0;`,
  },
];
