/** Eviction, broken. */
import type { Mutant } from './mutant.ts';

const CHART = 'src/machines/eviction-machine.ts';
const MANAGER = 'src/actors/eviction/eviction-manager.ts';
const LOOKS = 'src/actors/eviction/eviction-looks.ts';
const PASS = 'src/policies/eviction/pass.ts';
const RANKING = 'src/policies/eviction/ranking.ts';
const CONDITIONS = 'src/policies/eviction/pressure-conditions.ts';

export const EVICTION_MUTANTS: readonly Mutant[] = [
  {
    name: 'critical-evicted',
    breaks: 'Pods that the node must not do without are evicted (eviction)',
    file: PASS,
    find: `      !candidate.isCritical &&`,
    replace: `      candidate.uid !== '' &&`,
  },
  {
    name: 'idle-evicted',
    breaks: 'A pod of which nothing runs yet is evicted before those that use the memory (eviction)',
    file: MANAGER,
    find: `measured.has(uid) || ending.has(uid);`,
    replace: `measured.has(uid) || ending.size >= 0;`,
  },
  {
    name: 'evicted-beside-ending',
    breaks: 'A pod is evicted though another one is about to end (eviction)',
    file: PASS,
    find: `victim: awaited.length > 0 ? undefined : mayGo };`,
    replace: `victim: awaited.length > 0 && ending.size < 0 ? undefined : mayGo };`,
  },
  {
    name: 'stale-figures',
    breaks: 'Who goes is chosen by figures that are older than the choice (eviction)',
    file: MANAGER,
    find: `      const summary = await stats.summary(FIGURES_FOR[shortage.resource]);`,
    replace: `      const kept = this.#options as { summary?: Summary };
      const summary = (kept.summary ??= await stats.summary(FIGURES_FOR[shortage.resource]));`,
  },
  {
    name: 'lower-priority-last',
    breaks: 'Of those that use more than they request, the most important one goes first (eviction)',
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
    breaks: 'The node is looked at again before what the pod left has been removed (eviction)',
    file: CHART,
    find: `              { guard: 'isLastAwaited', actions: ['recordEnd'], target: 'CleaningUp' },`,
    replace: `              { guard: 'isLastAwaited', actions: ['recordEnd'], target: 'Observing' },`,
  },
  {
    name: 'evicted-not-killed',
    breaks: 'Who is to go is told of, and not ended (I9)',
    file: MANAGER,
    find: `    const isKnown = registry.send(pod.uid, { type: 'SyncPodKill', options: kill });`,
    replace: `    const isKnown = registry.get(pod.uid) !== undefined && kill.evict === true;`,
  },
  {
    name: 'look-forgets',
    breaks: 'What was not looked at counts as well (eviction)',
    file: PASS,
    find: `isPartial ? new Map([...state.observations, ...observed]) : observed;`,
    replace: `isPartial ? new Map(observed) : observed;`,
  },
  {
    name: 'memory-waits-for-disk',
    breaks: 'Memory that becomes short waits for what is being removed from the disk (eviction)',
    file: LOOKS,
    find: `(scope === 'memory' && isReclaiming())`,
    replace: `(scope === 'memory' && isReclaiming() && isObserving())`,
  },
  {
    name: 'pressure-stuck',
    breaks: 'A condition of pressure holds for ever (eviction)',
    file: CONDITIONS,
    find: `nowMs - lastMs < transitionPeriodMs;`,
    replace: `nowMs - lastMs >= 0 && transitionPeriodMs > 0;`,
  },
];
