/** Counts requests to the PodResources API, as the kubelet does. */
import type { PodResourcesMeasurements, PodResourcesMethod } from '../../../types/measurements.ts';
import { Counter } from './counters.ts';
import { COUNTED } from './metric-names.ts';
import type { Metric } from './metric-text.ts';

export class PodResourcesMetrics implements PodResourcesMeasurements {
  readonly #requests = new Counter(COUNTED.podResources);
  readonly #ofMethod: Readonly<Record<PodResourcesMethod, Counter>> = {
    list: new Counter(COUNTED.podResourcesList),
    get_allocatable: new Counter(COUNTED.podResourcesAllocatable),
    get: new Counter(COUNTED.podResourcesGet),
  };
  readonly #errors = new Counter(COUNTED.podResourcesGetErrors);

  asked(version: string, method?: PodResourcesMethod): void {
    const labels = { server_api_version: version };
    this.#requests.add(labels);
    if (method) this.#ofMethod[method].add(labels);
  }

  failed(version: string): void {
    this.#errors.add({ server_api_version: version });
  }

  metrics(): readonly Metric[] {
    return [this.#requests, ...Object.values(this.#ofMethod), this.#errors].map((one) => one.metric());
  }
}
