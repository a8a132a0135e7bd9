/** The figures of eviction plugins as of the last pass, with Katalyst's names. */
import type { CnrTaint, PluginVictim, PodNotice, RequestedCondition } from '../../../types/measurements.ts';
import { MetricSet } from './counters.ts';
import type { Labels, Metric } from './metric-text.ts';

export class EvictionPluginMetrics {
  readonly #set = new MetricSet();
  #pods: { readonly active: number; readonly candidates: number } | undefined;
  #victims: readonly PluginVictim[] | undefined;
  #conditions: readonly RequestedCondition[] = [];
  #notices: readonly PodNotice[] = [];
  #taints: readonly CnrTaint[] = [];

  /** Without eviction plugins, no samples. */
  constructor() {
    this.#set.gauge(
      'running_pod_cnt',
      'Active pods at the last pass over eviction plugins (Katalyst).',
      () => this.#pods?.active,
    );
    this.#set.gauge(
      'candidate_pod_cnt',
      'Of the active pods, those that eviction plugins are shown (Katalyst).',
      () => this.#pods?.candidates,
    );
    this.#set.gauge(
      'request_condition_cnt',
      'Conditions that plugins have reported with their thresholds in the last pass over eviction plugins (Katalyst).',
      () => ones(this.#conditions),
    );
    this.#set.gauge(
      'notify_pod',
      'Pods that got a notice by a file in the last pass over eviction plugins, and those whose notice failed (Katalyst).',
      () => ones(this.#notices),
    );
    this.#set.gauge(
      'cnr_taint',
      "Taints that conditions of eviction plugins ask for on the node's CustomNodeResource (Katalyst).",
      () => ones(this.#taints),
    );
    this.#set.gauge(
      'victims_cnt',
      'Pods that the last pass over eviction plugins has ended: all of them, and each of them with its plugin (Katalyst).',
      () => this.#victims && victimValues(this.#victims),
    );
  }

  pods(active: number, candidates: number): void {
    this.#pods = { active, candidates };
  }

  decided(victims: readonly PluginVictim[], conditions: readonly RequestedCondition[]): void {
    this.#victims = victims;
    this.#conditions = conditions;
  }

  notified(notices: readonly PodNotice[]): void {
    this.#notices = notices;
  }

  tainted(taints: readonly CnrTaint[]): void {
    this.#taints = taints;
  }

  metrics(): readonly Metric[] {
    return this.#set.metrics();
  }
}

function ones(all: readonly (RequestedCondition | PodNotice | CnrTaint)[]): (readonly [Labels, number])[] {
  return all.map((labels) => [{ ...labels }, 1]);
}

function victimValues(victims: readonly PluginVictim[]): (readonly [Labels, number])[] {
  const ofPlugins = victims.map(({ plugin, namespace, name, qos, priority }) => {
    const labels = { name: plugin, type: 'plugin', victim_name: name, victim_ns: namespace, qos, priority };
    return [labels, 1] as const;
  });
  return [[{ type: 'total' }, victims.length], ...ofPlugins];
}
