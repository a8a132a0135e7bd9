/** The figures of eviction plugins, most of them as of the last pass and with Katalyst's names. */
import type {
  CnrTaint,
  PluginCall,
  PluginMeasurements,
  PluginValidation,
  PluginVictim,
  PodNotice,
  RequestedCondition,
} from '../../../types/measurements.ts';
import { MetricSet } from './counters.ts';
import type { Labels, Metric } from './metric-text.ts';

export class EvictionPluginMetrics implements PluginMeasurements {
  readonly #set = new MetricSet();
  readonly #answers = this.#set.counter(
    'statelet_eviction_plugin_answers_total',
    'Questions to eviction plugins by result: success, refused, failure.',
  );
  readonly #validations = this.#set.counter(
    'eviction_plugin_validate',
    'Eviction plugins that wanted to register, and whether they have proved who they are (Katalyst).',
  );
  readonly #victimsTotal = this.#set.counter(
    'statelet_eviction_plugin_victims_total',
    'Pods that are ended because an eviction plugin named them.',
  );
  readonly #dryRunVictims = this.#set.counter(
    'statelet_eviction_plugin_dry_run_victims_total',
    'Pods that eviction plugins in dry run have named.',
  );
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

  answered(plugin: string, call: PluginCall, result: 'success' | 'failure' | 'refused'): void {
    this.#answers.add({ plugin, call, result });
  }

  /** A plugin that is refused can come again under any name: such names are not kept. */
  validated(labels: PluginValidation): void {
    const isTaken = labels.valid === 'true' || labels.strict === 'false';
    this.#validations.add({ ...labels, ...(!isTaken && { name: '' }) });
  }

  victim(plugin: string, isDryRun: boolean): void {
    (isDryRun ? this.#dryRunVictims : this.#victimsTotal).add({ plugin });
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
