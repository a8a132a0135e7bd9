/** Usage of nodes and pods, as metrics-server serves it: from the Summaries of the nodes. */
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { without } from '../../../src/agent/policies/formats/canonical-json.ts';
import type { AnyObject, Draft, Store } from './context.ts';
import type { ResourceRequest } from './requests.ts';
import { selected } from './selectors.ts';
import { notFound } from './status-error.ts';

type Ask = (node: AnyObject, path: string) => Promise<IncomingMessage>;

interface Usage {
  readonly cpu?: { readonly usageNanoCores?: number; readonly time?: string };
  readonly memory?: { readonly workingSetBytes?: number };
}

const WINDOW = '10s';

/** The metrics of all nodes or pods, or of the requested one. */
export async function nodeMetrics(request: ResourceRequest, store: Store, ask: Ask): Promise<object> {
  const { type, name, namespace, query } = request;
  const isSelected = selected(query.get('labelSelector'), null, type);
  const nodes = store.list('nodes') as AnyObject[];
  const all = (await Promise.all(nodes.map((node) => metricsOf(node, type.plural, store, ask)))).flat();
  const items = all.filter(
    ({ metadata, labels }) =>
      (namespace === undefined || metadata.namespace === namespace) &&
      isSelected({ metadata: { ...metadata, labels } } as unknown as AnyObject),
  );
  const shown = items.map((metrics) => without(metrics, ['labels']));
  const kind = { kind: type.kind, apiVersion: `${type.group}/${type.version}` };
  if (name === '') return { ...kind, kind: `${type.kind}List`, metadata: {}, items: shown };
  const found = shown.find(({ metadata }) => metadata.name === name);
  if (found === undefined) throw notFound({ type, name });
  return { ...kind, ...found };
}

interface Metrics {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly labels: Readonly<Record<string, string>>;
}

async function metricsOf(node: AnyObject, plural: string, store: Store, ask: Ask): Promise<Metrics[]> {
  const summary = JSON.parse(await text(await ask(node, '/stats/summary'))) as Draft;
  if (plural === 'nodes') {
    const { name, labels = {} } = node.metadata;
    return [
      {
        metadata: { name },
        labels,
        ...measured(summary.node as Usage),
        usage: usageOf(summary.node as Usage),
      } as Metrics,
    ];
  }
  return ((summary.pods ?? []) as Draft[]).flatMap((pod) => {
    const { name, namespace } = pod.podRef as { name: string; namespace: string };
    const { labels } = store.get('pods', { name, namespace })?.metadata ?? {};
    const containers = ((pod.containers ?? []) as (Usage & { name: string })[]).map((one) => ({
      name: one.name,
      usage: usageOf(one),
    }));
    if (containers.length === 0) return [];
    return [{ metadata: { name, namespace }, labels: labels ?? {}, ...measured(pod), containers } as Metrics];
  });
}

const measured = ({ cpu }: Usage): object => ({ timestamp: cpu?.time ?? null, window: WINDOW });

const usageOf = ({ cpu, memory }: Usage): object => ({
  cpu: `${cpu?.usageNanoCores ?? 0}n`,
  memory: `${Math.floor((memory?.workingSetBytes ?? 0) / 1024)}Ki`,
});
