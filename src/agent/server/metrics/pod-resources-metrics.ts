/** Counts requests to the PodResources API, as the kubelet does. */
import type { PodResourcesMeasurements, PodResourcesMethod } from '../../../types/measurements.ts';
import { type Counter, MetricSet } from './counters.ts';
import type { Metric } from './metric-text.ts';

export class PodResourcesMetrics implements PodResourcesMeasurements {
  readonly #set = new MetricSet();
  readonly #requests = this.#set.counter(
    'kubelet_pod_resources_endpoint_requests_total',
    '[ALPHA] Cumulative number of requests to the PodResource endpoint. Broken down by server api version.',
  );
  readonly #ofMethod: Readonly<Record<PodResourcesMethod, Counter>> = {
    list: this.#set.counter(
      'kubelet_pod_resources_endpoint_requests_list',
      '[ALPHA] Number of requests to the PodResource List endpoint. Broken down by server api version.',
    ),
    get_allocatable: this.#set.counter(
      'kubelet_pod_resources_endpoint_requests_get_allocatable',
      '[ALPHA] Number of requests to the PodResource GetAllocatableResources endpoint. Broken down by server api version.',
    ),
    get: this.#set.counter(
      'kubelet_pod_resources_endpoint_requests_get',
      '[ALPHA] Number of requests to the PodResource Get endpoint. Broken down by server api version.',
    ),
  };
  readonly #errors = this.#set.counter(
    'kubelet_pod_resources_endpoint_errors_get',
    '[ALPHA] Number of requests to the PodResource Get endpoint which returned error. Broken down by server api version.',
  );

  asked(version: string, method?: PodResourcesMethod): void {
    const labels = { server_api_version: version };
    this.#requests.add(labels);
    if (method) this.#ofMethod[method].add(labels);
  }

  failed(version: string): void {
    this.#errors.add({ server_api_version: version });
  }

  metrics(): readonly Metric[] {
    return this.#set.metrics();
  }
}
