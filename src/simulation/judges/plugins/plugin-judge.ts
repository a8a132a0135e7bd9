/**
 * Checks eviction by plugins: which pods they are shown, what follows from their answers, and which pods are ended for them. It knows the answers as
 * the plugins gave them, and computes by itself what follows.
 */
import type { EvictionPluginsEvent } from '../../../agent/machines/eviction-plugins-machine.ts';
import type {
  PluginCondition,
  PluginQuestion,
  TopEvictionPodsQuestion,
} from '../../../types/eviction-plugin.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { isManifestPod } from '../../../agent/policies/pod/pod-kinds.ts';
import type { PluginsPlan } from '../../plugins/plugins-plan.ts';
import type { AskedCall, PluginWitness } from '../../plugins/simulated-plugin.ts';
import { isEndingOrEnded, type PodRecord, type PodRecords } from '../pod-records.ts';
import { type KillEvent, PluginKillsJudge } from './plugin-kills-judge.ts';
import {
  type AskedQuestion,
  type ConfirmedThreshold,
  isEndable,
  isLessImportant,
  isShown,
  metCondition,
  metThreshold,
  wantsNotice,
  whyNever,
  type Wish,
  wishesOf,
} from './plugin-wishes.ts';

export interface PluginTruth {
  readonly plan: PluginsPlan;
  readonly nodeName: string;
  /** Whether the node has ever had a taint that keeps pods from starting. An agent may learn late that it is gone. */
  readonly hadNoExecute: () => boolean;
  /** A condition has been reported that counts. */
  readonly onCondition: (condition: PluginCondition) => void;
  /** The names of the conditions that the agent counts. */
  readonly conditions: () => readonly string[];
  /** The pod has been chosen to be ended. */
  readonly onChosen: (uid: string, plugin: string) => void;
}

export interface PluginJudgeOptions {
  readonly now: () => number;
  readonly tenants: PodRecords;
  readonly truth: PluginTruth;
  readonly violated: (
    invariant: string,
    subject: { readonly uid: string; readonly pod?: Pod | undefined },
    what: string,
  ) => void;
}

/** From its beginning until pods are chosen. */
interface Pass {
  readonly beganAt: number;
  /** UIDs of the pods that plugins are to be shown. */
  readonly shown: ReadonlySet<string>;
  readonly questions: AskedQuestion[];
  isOver: boolean;
}

const NODE = { uid: '' };

export class PluginJudge implements PluginWitness {
  readonly kills: PluginKillsJudge;
  readonly #options: PluginJudgeOptions;
  #pass: Pass | undefined;
  /** When the last pass was over, or the agent began. Unix ms. */
  #restedAt: number;
  /** By plugin: since when its threshold has been met without a break. */
  #metSince: ReadonlyMap<string, number> = new Map();
  /** By name: when each condition was last observed. */
  readonly #conditions = new Map<string, number>();

  constructor(options: PluginJudgeOptions) {
    const { now, tenants } = options;
    this.#options = options;
    this.#restedAt = now();
    this.kills = new PluginKillsJudge({
      get: (uid) => tenants.get(uid),
      endsHere: ({ pod }) => pod !== undefined && isManifestPod(pod),
      violated: (subject, what) => this.#violated(subject, what),
    });
  }

  asked(plugin: string, call: AskedCall, question: PluginQuestion): (answer: unknown) => void {
    const { now, tenants, truth } = this.#options;
    const pass = this.#pass;
    const { topN } = question as Partial<TopEvictionPodsQuestion>;
    const deadlineMs = (pass?.beganAt ?? now()) + truth.plan.settings.timeoutMs;
    const asked: AskedQuestion = { plugin, call, atMs: now(), deadlineMs, topN, reply: undefined };
    if (pass === undefined || pass.isOver) this.#violated(NODE, `${plugin} is asked outside of a pass`);
    else {
      if (pass.questions.some((other) => other.plugin === plugin && other.call === call))
        this.#violated(NODE, `${plugin} is asked twice in one pass: ${call}`);
      this.#checkShown(pass, asked, question);
      pass.questions.push(asked);
    }
    return (answer) => {
      if (asked.reply !== undefined) return;
      const endable = new Set(
        tenants
          .known()
          .filter(isEndable)
          .map(({ uid }) => uid),
      );
      asked.reply = { atMs: now(), answer, endable };
      const condition = metCondition(asked);
      if (condition !== undefined && !truth.plan.onTrial.has(plugin)) truth.onCondition(condition);
    };
  }

  askedClosed(plugin: string): void {
    const { now } = this.#options;
    // A later question in a pass may be to a plugin that has gone meanwhile.
    if (this.#pass?.beganAt === now()) this.#violated(NODE, `${plugin} is asked after it was let go`);
  }

  /** The chart of the plugins gets this event. */
  hears(event: EvictionPluginsEvent): void {
    if (event.type === 'PASS_DUE') this.#passBegins();
    if (event.type === 'CHOSEN' && this.#pass)
      this.#chosen(
        this.#pass,
        event.choice.ending.map(({ pod, plugin }) => ({ uid: pod.metadata.uid, plugin })),
      );
  }

  /** The chart has handled that event. */
  shows(event: EvictionPluginsEvent): void {
    if (event.type !== 'CHOSEN' || this.#pass === undefined) return;
    const { conditionTransitionPeriodMs: periodMs } = this.#options.truth.plan.settings;
    const { beganAt } = this.#pass;
    const wanted = [...this.#conditions].filter(([, at]) => beganAt - at < periodMs).map(([name]) => name);
    const standing = this.#options.truth.conditions();
    const [one, other] = [[...standing].sort().join(), wanted.sort().join()];
    if (one !== other)
      this.#violated(NODE, `the conditions are ${one || 'none'}, and should be ${other || 'none'}`);
  }

  /** SyncPodKill: for a plugin. */
  killed(record: PodRecord, event: KillEvent): void {
    this.kills.killed(record, event);
  }

  /** Why plugins are not at rest, if so. */
  get unrest(): { readonly uid?: string; readonly what: string } | undefined {
    const { now, truth } = this.#options;
    const { syncPeriodMs, timeoutMs } = truth.plan.settings;
    const [condition] = truth.conditions();
    if (condition !== undefined) return { what: `the condition ${condition} of a plugin stands` };
    if (now() - this.#restedAt > 2 * (syncPeriodMs + timeoutMs)) return { what: 'plugins are not asked' };
    return this.kills.unfinished;
  }

  #passBegins(): void {
    const { now, tenants, truth } = this.#options;
    const { syncPeriodMs } = truth.plan.settings;
    if (this.#pass?.isOver === false) this.#violated(NODE, 'plugins are asked in two passes at once');
    if (now() < this.#restedAt + syncPeriodMs) this.#violated(NODE, 'plugins are asked too early');
    if (this.#pass !== undefined && now() > this.#restedAt + syncPeriodMs)
      this.#violated(NODE, 'plugins are asked too late');
    const shown = new Set(
      tenants
        .known()
        .filter(isShown)
        .map(({ uid }) => uid),
    );
    this.#pass = { beganAt: now(), shown, questions: [], isOver: false };
  }

  /** Plugins see all pods that go on, but not those that settings hide from them. */
  #checkShown(
    { shown, beganAt }: Pass,
    { plugin, call, atMs }: AskedQuestion,
    question: PluginQuestion,
  ): void {
    const uids = question.activePods.pods.map(({ metadata }) => metadata.uid);
    const [extra] = uids.filter((uid) => !shown.has(uid));
    if (extra !== undefined) this.#violated({ uid: extra }, `is shown to ${plugin}, and must not be`);
    if (call === 'GetTopEvictionPods') return;
    if (atMs !== beganAt) this.#violated(NODE, `${plugin} is asked later than others: ${call}`);
    const [missing] = [...shown].filter((uid) => !uids.includes(uid));
    if (missing !== undefined) this.#violated({ uid: missing }, `is not shown to ${plugin}`);
  }

  #chosen(pass: Pass, ending: readonly { readonly uid: string; readonly plugin: string }[]): void {
    const { now, truth } = this.#options;
    const { timeoutMs, evictionBurst } = truth.plan.settings;
    pass.isOver = true;
    this.#restedAt = now();
    const confirmed = this.#confirmed(pass);
    if (now() > pass.beganAt + timeoutMs) this.#violated(NODE, 'a plugin is waited for too long');
    this.#observeConditions(pass);
    if (evictionBurst >= 0 && ending.length > evictionBurst)
      this.#violated(NODE, `${ending.length} pods are ended at once: more than ${evictionBurst}`);
    const wishes = this.#wishes(pass, confirmed);
    for (const { uid, plugin } of ending) this.#checkVictim(uid, plugin, wishes);
    this.#checkCandidate(ending, wishes);
    if (evictionBurst < 0 || ending.length < evictionBurst) this.#checkNobodyForgotten(ending, wishes);
    for (const { uid, plugin } of ending) {
      const record = this.#options.tenants.get(uid);
      if (record === undefined) continue;
      this.kills.chosen(record, plugin);
      truth.onChosen(uid, plugin);
    }
  }

  /** The plugins whose thresholds have been met for long enough; they, and no others, were asked for pods. */
  #confirmed(pass: Pass): ReadonlyMap<string, ConfirmedThreshold> {
    const since = new Map<string, number>();
    const confirmed = new Map<string, ConfirmedThreshold>();
    for (const question of pass.questions) {
      const threshold = metThreshold(question);
      if (threshold === undefined) continue;
      const first = this.#metSince.get(question.plugin) ?? pass.beganAt;
      since.set(question.plugin, first);
      const isOver = pass.beganAt - first >= threshold.gracePeriodSeconds * 1000;
      const { metType, scope } = threshold;
      if (isOver) confirmed.set(question.plugin, { topN: metType === 'HARD_MET' ? 1 : 0, scope });
    }
    this.#metSince = since;
    const asked = pass.questions.filter(({ call }) => call === 'GetTopEvictionPods');
    for (const { plugin, topN = 0 } of asked) {
      const wanted = confirmed.get(plugin)?.topN;
      if (wanted === undefined) this.#violated(NODE, `${plugin} is asked for a pod before its time`);
      else if (topN !== wanted) this.#violated(NODE, `${plugin} is asked for ${topN} pods, not ${wanted}`);
    }
    for (const plugin of confirmed.keys())
      if (!asked.some((question) => question.plugin === plugin))
        this.#violated(NODE, `${plugin} is not asked for a pod, though its threshold is met`);
    return confirmed;
  }

  #observeConditions({ questions, beganAt }: Pass): void {
    const { plan } = this.#options.truth;
    for (const question of questions) {
      const condition = metCondition(question);
      if (condition !== undefined && !plan.onTrial.has(question.plugin))
        this.#conditions.set(condition.name, beganAt);
    }
  }

  /** The wishes of plugins that are not in a dry run. */
  #wishes(
    { questions }: Pass,
    confirmed: ReadonlyMap<string, ConfirmedThreshold>,
  ): ReadonlyMap<string, Wish> {
    const { tenants, truth } = this.#options;
    const counted = questions.filter(({ plugin }) => !truth.plan.onTrial.has(plugin));
    return wishesOf(counted, {
      nodeName: truth.nodeName,
      get: (uid) => tenants.get(uid),
      confirmed,
    });
  }

  #checkVictim(uid: string, plugin: string, wishes: ReadonlyMap<string, Wish>): void {
    const record = this.#options.tenants.get(uid);
    const subject = record ?? { uid };
    const never = record === undefined ? 'is not known' : whyNever(record);
    if (never !== undefined) this.#violated(subject, `${never}, and is ended for ${plugin}`);
    if (record !== undefined && isEndingOrEnded(record))
      this.#violated(subject, `is ended for ${plugin} in ${record.state}`);
    if (this.kills.isOpen(uid)) this.#violated(subject, `is ended for ${plugin}, and was chosen already`);
    if (this.#options.truth.plan.onTrial.has(plugin))
      this.#violated(subject, `is ended for ${plugin}, which is in dry run`);
    if (wishes.get(uid)?.plugins.has(plugin) !== true)
      this.#violated(subject, `is ended for ${plugin}, which has not named it in this pass`);
  }

  /** Of the pods that need not go, only the least important one goes. */
  #checkCandidate(ending: readonly { readonly uid: string }[], wishes: ReadonlyMap<string, Wish>): void {
    const candidates = [...wishes.values()].filter(({ isForced, pod }) => !isForced && !wantsNotice(pod));
    const chosen = ending.flatMap(({ uid }) => {
      const wish = wishes.get(uid);
      return wish !== undefined && !wish.isForced ? [wish] : [];
    });
    const [first, second] = chosen;
    if (second !== undefined) this.#violated(second.record, 'is ended as a second candidate');
    if (first === undefined) return;
    if (wantsNotice(first.pod)) this.#violated(first.record, 'is ended, and wanted to be told instead');
    const other = candidates.find((wish) => wish.isCertain && isLessImportant(wish, first));
    if (other !== undefined)
      this.#violated(first.record, `is ended, though ${other.pod.metadata.name} is less important`);
  }

  /** If the burst has room, all pods go that must go, and one of the candidates. */
  #checkNobodyForgotten(
    ending: readonly { readonly uid: string }[],
    wishes: ReadonlyMap<string, Wish>,
  ): void {
    const goes = ({ record: { uid } }: Wish) =>
      ending.some((victim) => victim.uid === uid) || this.kills.isOpen(uid);
    const certain = [...wishes.values()].filter(({ isCertain }) => isCertain);
    const forgotten = certain.find((wish) => wish.isForced && !goes(wish));
    if (forgotten !== undefined)
      this.#violated(forgotten.record, 'is to go in any case, and is not ended for a plugin');
    const candidates = [...wishes.values()].filter(({ isForced, pod }) => !isForced && !wantsNotice(pod));
    const [first] = candidates.filter(({ isCertain }) => isCertain);
    if (first !== undefined && !candidates.some(goes))
      this.#violated(first.record, 'is a candidate of a plugin, and none is ended');
  }

  #violated(subject: { readonly uid: string; readonly pod?: Pod | undefined }, what: string): void {
    this.#options.violated('plugins', subject, what);
  }
}
