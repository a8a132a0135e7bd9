/** The number of watches, as in the metrics of a real server. */
import type { ResourceRequest } from './requests.ts';

export class WatchCounts {
  readonly #counts = new Map<string, number>();

  /** Returns the function that ends the count of the watch. */
  add({ type, namespace, name }: ResourceRequest): () => void {
    const scope = name !== '' ? 'resource' : namespace === undefined ? 'cluster' : 'namespace';
    const labels = `{component="apiserver",group="${type.group}",resource="${type.plural}",scope="${scope}",verb="WATCH",version="${type.version}"}`;
    this.#change(labels, 1);
    return () => this.#change(labels, -1);
  }

  text(): string {
    const lines = Array.from(
      this.#counts,
      ([labels, count]) => `apiserver_longrunning_requests${labels} ${count}`,
    );
    return ['# TYPE apiserver_longrunning_requests gauge', ...lines, ''].join('\n');
  }

  #change(labels: string, by: number): void {
    this.#counts.set(labels, (this.#counts.get(labels) ?? 0) + by);
  }
}
