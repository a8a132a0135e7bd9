/** Eviction by plugins, broken. */
import type { Mutant } from './mutant.ts';

const MANAGER = 'src/agent/actors/plugins/plugin-manager.ts';
const QUESTIONS = 'src/agent/actors/plugins/plugin-questions.ts';
const KILLS = 'src/agent/actors/plugins/plugin-pod-kills.ts';
const CHECKS = 'src/agent/policies/eviction-plugins/answer-checks.ts';
const CHOICE = 'src/agent/policies/eviction-plugins/pod-choice.ts';
const COLLECTED = 'src/agent/policies/eviction-plugins/collected-answers.ts';
const ORDER = 'src/agent/policies/eviction-plugins/collected-answers.ts';
const OBSERVED = 'src/agent/policies/eviction-plugins/plugin-pass.ts';

export const PLUGIN_MUTANTS: readonly Mutant[] = [
  {
    name: 'critical-for-plugin',
    breaks: 'A critical pod with an unknown QoS level is ended for a plugin (plugins)',
    file: CHOICE,
    find: `  if (isCriticalPod(pod)) return 'it is critical';\n`,
    replace: '',
  },
  {
    name: 'burst-ignored',
    breaks: 'More pods are ended in a pass than the burst allows (plugins)',
    file: CHOICE,
    find: `ending: queue.take(), queued: queue.entries }`,
    replace: `ending: queue.entries, queued: queue.take() }`,
  },
  {
    name: 'trial-acted-on',
    breaks: 'Pods are ended that only a plugin on trial has named (plugins)',
    file: COLLECTED,
    find: `    if (this.isDryRun(plugin)) return;
    for (const { forceEvict`,
    replace: `    for (const { forceEvict`,
  },
  {
    name: 'threshold-on-trial-acted-on',
    breaks: 'A pod is ended for the threshold of a plugin on trial (plugins)',
    file: COLLECTED,
    find: `    if (this.isDryRun(plugin)) return;
    const shared`,
    replace: `    const shared`,
  },
  {
    name: 'chosen-twice',
    breaks: 'A pod that is being ended for a plugin is chosen again (plugins)',
    file: CHOICE,
    find: `    evictable.filter(({ pod }) => !isUnderWay(pod.metadata.uid)),`,
    replace: `    evictable,`,
  },
  {
    name: 'ending-chosen',
    breaks: 'A pod that another part ends is chosen as well (plugins)',
    file: CHOICE,
    find: `keptBecause(pod) !== undefined || isEnding(pod.metadata.uid);`,
    replace: `keptBecause(pod) !== undefined || (isEnding(pod.metadata.uid) && isUnderWay(pod.metadata.uid));`,
  },
  {
    name: 'skipped-shown',
    breaks: 'A pod whose annotations or labels keep it from plugins is shown to them (plugins)',
    file: MANAGER,
    find: `known.isEnding || known.isSkipped) return [];`,
    replace: `known.isEnding) return [];`,
  },
  {
    name: 'deadline-missing',
    breaks: 'A plugin that never answers stops the manager (plugins)',
    file: QUESTIONS,
    find: `      () => limit.abort(new StateletError('DeadlineExceeded', problem)),`,
    replace: `      () => problem,`,
  },
  {
    name: 'other-node-believed',
    breaks: 'A pod is ended though the answer says that it is one of another node (plugins)',
    file: CHECKS,
    find: `  if (named.nodeName !== '' && named.nodeName !== nodeName) return`,
    replace: `  if (named.nodeName !== '' && nodeName === '') return`,
  },
  {
    name: 'other-name-believed',
    breaks: 'A pod is ended though it has another name than the one in the answer (plugins)',
    file: CHECKS,
    find: `  if (name !== named.name || namespace !== named.namespace)`,
    replace: `  if (name === '' || namespace === '')`,
  },
  {
    name: 'first-observation-forgotten',
    breaks: 'The grace period of a threshold begins anew with each pass (plugins)',
    file: OBSERVED,
    find: `firstObservedAt: before.get(plugin)?.firstObservedAt ?? now }`,
    replace: `firstObservedAt: before.has(plugin) ? now : now }`,
  },
  {
    name: 'threshold-without-grace',
    breaks: 'A pod is ended before the grace period of the threshold is over (plugins)',
    file: OBSERVED,
    find: `    now - firstObservedAt >= threshold.gracePeriodSeconds * 1000;`,
    replace: `    now - firstObservedAt >= threshold.gracePeriodSeconds;`,
  },
  {
    name: 'condition-stays',
    breaks: 'A condition of a plugin stands for ever (plugins)',
    file: OBSERVED,
    find: `now - lastObservedAt < transitionPeriodMs,`,
    replace: `now - lastObservedAt >= 0 && transitionPeriodMs >= 0,`,
  },
  {
    name: 'notice-ignored',
    breaks: 'A candidate is ended that wanted to be told instead (plugins)',
    file: ORDER,
    find: `isEvictable(pod) && !wantsNotice(pod))).at(-1);`,
    replace: `isEvictable(pod) || wantsNotice(pod))).at(-1);`,
  },
  {
    name: 'many-for-one',
    breaks: 'For one threshold all pods are ended that the plugin names, not one (plugins)',
    file: CHECKS,
    find: `topN > 0 ? targetPods.slice(0, topN) : targetPods;`,
    replace: `targetPods;`,
  },
  {
    name: 'soft-threshold-unasked',
    breaks: 'A plugin with a soft threshold is asked for one pod, as for a hard one (plugins)',
    file: QUESTIONS,
    find: `isHard(threshold) ? TOP_N_HARD : TOP_N_SOFT;`,
    replace: `TOP_N_SOFT < TOP_N_HARD ? TOP_N_HARD : TOP_N_SOFT;`,
  },
  {
    name: 'soft-threshold-as-hard',
    breaks: 'All pods go in any case that a plugin names for a soft threshold (plugins)',
    file: OBSERVED,
    find: `    if (isHard(threshold)) collected.topPods(`,
    replace: `    if (isHard(threshold) || topPods.targetPods.length > 0) collected.topPods(`,
  },
  {
    name: 'soft-on-trial-acted-on',
    breaks: 'A pod is ended for the soft threshold of a plugin on trial (plugins)',
    file: COLLECTED,
    find: `    if (this.isDryRun(plugin)) return;
    for (const pod of targetPods) {`,
    replace: `    for (const pod of targetPods) {`,
  },
  {
    name: 'plugin-kill-not-told',
    breaks: 'A pod counts as ended for a plugin, and is not told (plugins)',
    file: KILLS,
    find: `registry.kill(uid, awaits`,
    replace: `registry.kill(awaits === undefined ? '' : uid, awaits`,
  },
  {
    name: 'kill-without-end',
    breaks: 'The kill of a pod goes on after the pod has ended (plugins)',
    file: KILLS,
    find: `    if (how === 'Terminated') this.#send`,
    replace: `    if (how === 'Terminated' && uid === '') this.#send`,
  },
];
