/** The figures of eviction plugins as of the last pass, with Katalyst's names. */
import type { CnrTaint, PluginVictim, PodNotice, RequestedCondition } from '../../../types/measurements.ts';
import { GAUGES } from './metric-names.ts';
import { type Labels, type Metric, metric } from './metric-text.ts';

export class EvictionPluginMetrics {
  #pods: { readonly active: number; readonly candidates: number } | undefined;
  #victims: readonly PluginVictim[] | undefined;
  #conditions: readonly RequestedCondition[] = [];
  #notices: readonly PodNotice[] = [];
  #taints: readonly CnrTaint[] = [];

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

  /** Without eviction plugins, no samples. */
  metrics(): readonly Metric[] {
    const pods = this.#pods;
    return [
      gauge(GAUGES.activePods, pods ? [[{}, pods.active]] : []),
      gauge(GAUGES.candidatePods, pods ? [[{}, pods.candidates]] : []),
      gauge(GAUGES.requestedConditions, ones(this.#conditions)),
      gauge(GAUGES.podNotices, ones(this.#notices)),
      gauge(GAUGES.cnrTaints, ones(this.#taints)),
      gauge(GAUGES.victims, this.#victims ? victimValues(this.#victims) : []),
    ];
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

function gauge(
  head: { readonly name: string; readonly help: string },
  values: Iterable<readonly [Labels, number]>,
): Metric {
  return metric({ ...head, type: 'gauge' }, values);
}
