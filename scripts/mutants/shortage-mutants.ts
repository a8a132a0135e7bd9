/** What a node runs short of beside memory, and limits of local storage, broken. */
import type { Mutant } from './mutant.ts';

const MANAGER = 'src/agent/actors/eviction/eviction-manager.ts';
const PASS = 'src/agent/policies/eviction/pass.ts';
const MET = 'src/agent/policies/eviction/observations.ts';
const RANKING = 'src/agent/policies/eviction/ranking.ts';
const SHORTAGE = 'src/agent/policies/eviction/shortage.ts';
const SIGNALS = 'src/agent/policies/eviction/signals.ts';
const THRESHOLDS = 'src/agent/policies/eviction/thresholds.ts';

export const SHORTAGE_MUTANTS: readonly Mutant[] = [
  {
    name: 'no-reclaim',
    breaks: 'Pods are evicted before dead containers and unused images are removed (eviction)',
    file: SHORTAGE,
    find: `    reclaim: nodeReclaims(threshold.signal, layout),`,
    replace: `    reclaim: nodeReclaims(threshold.signal, layout).slice(9),`,
  },
  {
    name: 'images-before-containers',
    breaks: 'Images are removed before the dead containers that use them (eviction)',
    file: MANAGER,
    find: `    for (const what of shortage.reclaim) {`,
    replace: `    for (const what of shortage.reclaim.toReversed()) {`,
  },
  {
    name: 'reclaim-not-measured',
    breaks: 'Pods are evicted though enough dead containers and images have been removed (eviction)',
    file: MANAGER,
    find: `      return shortageAfterReclaim(shortage, thresholds, observe(summary));`,
    replace: `      return observe(summary).size < 0 ? undefined : shortage;`,
  },
  {
    name: 'used-image-removed',
    breaks: 'Images are removed that containers use (eviction)',
    file: 'src/agent/policies/garbage/unused-images.ts',
    find: `        inUse: isUsed || image.pinned === true`,
    replace: `        inUse: image.pinned === true`,
  },
  {
    name: 'needed-container-removed',
    breaks: 'The last dead containers of a running pod are removed (eviction)',
    file: 'src/agent/actors/node-agent.ts',
    find: `      isPodTerminated: (uid) => `,
    replace: `      isPodTerminated: (uid) => uid !== '' || `,
  },
  {
    name: 'minimum-reclaim-ignored',
    breaks: 'A shortage is over before the minimum reclaim is reached (eviction)',
    file: PASS,
    find: `    thresholdsMet(state.met, observations, { minReclaim: true }),`,
    replace: `    thresholdsMet(state.met, observations, { minReclaim: false }),`,
  },
  {
    name: 'minimum-reclaim-forgotten',
    breaks: 'Measured again, a shortage is over before the minimum reclaim is reached (eviction)',
    file: SHORTAGE,
    find: `  return thresholdsMet(thresholds, observations, { minReclaim: true }).length === 0;`,
    replace: `  return thresholdsMet(thresholds, observations, { minReclaim: false }).length === 0;`,
  },
  {
    name: 'soft-at-once',
    breaks: 'A soft threshold acts before its grace period is over (eviction)',
    file: MET,
    find: `nowMs - sinceMs >= threshold.gracePeriodMs)`,
    replace: `nowMs - sinceMs >= Math.min(0, threshold.gracePeriodMs))`,
  },
  {
    name: 'memory-not-first',
    breaks: 'Memory is reclaimed after everything else (eviction)',
    file: MET,
    find: `    ...thresholds.filter(isOfMemory).toReversed(),
    ...others.filter(({ signal }) => starvedResource(signal) !== undefined),`,
    replace: `    ...others.filter(({ signal }) => starvedResource(signal) !== undefined),
    ...thresholds.filter(isOfMemory).toReversed(),`,
  },
  {
    name: 'pods-memory-unwatched',
    breaks: 'All pods together use more memory than they may (eviction)',
    file: THRESHOLDS,
    find: `  return enforced ? [...thresholds, ...allocatableThresholds(thresholds)] : thresholds;`,
    replace: `  return enforced ? thresholds : [...thresholds, ...allocatableThresholds(thresholds)];`,
  },
  {
    name: 'disk-request-ignored',
    breaks: 'What a pod requests of the disk does not count (eviction)',
    file: RANKING,
    find: ` ? 0 : requestOf(pod, resource);`,
    replace: ` || resource !== 'memory' ? 0 : requestOf(pod, resource);`,
  },
  {
    name: 'inodes-less-nothing',
    breaks: 'For inodes another pod is evicted than the kubelet would choose (eviction)',
    file: RANKING,
    find: `  return resource === 'inodes' ? requestOf(pod, 'ephemeral-storage') : request;`,
    replace: `  return pod.spec.containers.length === 0 ? requestOf(pod, 'ephemeral-storage') : request;`,
  },
  {
    name: 'other-disk-counts',
    breaks: 'Usage of another disk than the one that is short counts (eviction)',
    file: 'src/agent/policies/eviction/file-system-parts.ts',
    find: `  return contentsFor(signal, layout)?.parts ?? [];`,
    replace: `  return contentsFor(signal, layout) === undefined ? [] : ALL.parts;`,
  },
  {
    name: 'disk-figures-old',
    breaks: 'The victim is chosen by what pods had on disk some time ago (eviction)',
    file: MANAGER,
    find: `diskUsageMaxAgeMs: FRESH_DISK_USAGE_MS }`,
    replace: `diskUsageMaxAgeMs: 60 * FRESH_DISK_USAGE_MS }`,
  },
  {
    name: 'cleanup-forgotten',
    breaks: 'The clean-up of an evicted pod is not waited for (eviction)',
    file: 'src/agent/actors/eviction/eviction-pods.ts',
    find: `.hasTag('finished') ?? true`,
    replace: `.hasTag('terminated') ?? true`,
  },
  {
    name: 'fewest-processes-first',
    breaks: 'Of several pods the one with the fewest processes is evicted (eviction)',
    file: RANKING,
    find: `  return a.priority - b.priority || unknownFirst(a, b) || b.overRequest - a.overRequest;`,
    replace: `  return a.priority - b.priority || unknownFirst(a, b) || a.overRequest - b.overRequest;`,
  },
  {
    name: 'processes-before-priority',
    breaks: 'Processes count before priority (eviction)',
    file: RANKING,
    find: `  return a.priority - b.priority || unknownFirst(a, b) || b.overRequest - a.overRequest;`,
    replace: `  return unknownFirst(a, b) || b.overRequest - a.overRequest || a.priority - b.priority;`,
  },
  {
    name: 'inodes-are-memory',
    breaks: 'A disk without inodes leads to the wrong condition (eviction)',
    file: SIGNALS,
    find: `{ resource: 'inodes', condition: 'DiskPressure' }`,
    replace: `{ resource: 'inodes', condition: 'MemoryPressure' }`,
  },
  {
    name: 'processes-without-condition',
    breaks: 'A node short of process IDs has the wrong condition (eviction)',
    file: SIGNALS,
    find: `{ resource: 'pids', condition: 'PIDPressure' }`,
    replace: `{ resource: 'pids', condition: 'DiskPressure' }`,
  },
  {
    name: 'full-disk-admits',
    breaks: 'Pods are admitted though the disk is full (admission)',
    file: 'src/agent/policies/admission/admit-pod.ts',
    find: `  if (conditions.length === 0 || isCriticalPod(pod)) return undefined;`,
    replace: `  if (!conditions.includes(MEMORY_PRESSURE) || isCriticalPod(pod)) return undefined;`,
  },
  {
    name: 'limits-not-enforced',
    breaks: 'Pods that exceed limits of their storage are not evicted (eviction)',
    file: PASS,
    find: `settings.localStorageCapacityIsolation ? podsOverLimit(facts) : [];`,
    replace: `settings.localStorageCapacityIsolation ? [] : podsOverLimit(facts);`,
  },
  {
    name: 'critical-over-limit',
    breaks: 'Critical pods are evicted for a limit (eviction)',
    file: PASS,
    find: `    if (measured === undefined || isCriticalPod(pod) || ending`,
    replace: `    if (measured === undefined || ending`,
  },
  {
    name: 'limit-of-all-ignored',
    breaks: 'The limit of all containers of a pod together is not enforced (eviction)',
    file: 'src/agent/policies/eviction/pod-usage.ts',
    find: `    exceededEmptyDir(pod, stats) ?? exceededPod(pod, stats) ?? exceededContainer(`,
    replace: `    exceededEmptyDir(pod, stats) ?? exceededContainer(`,
  },
  {
    name: 'limit-with-time',
    breaks: 'A pod that exceeds a limit has half a minute to end (eviction)',
    file: PASS,
    find: `  const gracePeriodSeconds = IMMEDIATE_GRACE_PERIOD_SECONDS;
  const kill`,
    replace: `  const gracePeriodSeconds = 30 * IMMEDIATE_GRACE_PERIOD_SECONDS;
  const kill`,
  },
];
