/** What a daemon serves to its own machine: `/healthz`, `/eviction`, and `/pods` and `/stats/summary` as the kubelet serves them. */
import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EvictionExplanation } from '../../policies/eviction/explanation.ts';
import type { ServedPod } from '../../../types/served-pod.ts';
import type { Summary } from '../../../types/stats.ts';
import { RequestError, type Route } from './route.ts';

/** The state of the pod's chart, such as `Syncing.Settled`. Only `/pods` sets this annotation. */
export const STATE_ANNOTATION = 'statelet.dev/state';
/** On pods of `/pods` that have not been started, and nowhere else: why, in words for people. */
export const WAITS_FOR_ANNOTATION = 'statelet.dev/waits-for';
/** On pods of `/pods` that have CPUs for themselves. */
export const OWN_CPUS_ANNOTATION = 'statelet.dev/own-cpus';

export interface ApiSources {
  /** Why the daemon is not healthy; undefined when it is. */
  health(): string | undefined;
  pods(): Iterable<ServedPod>;
  /** Which pods would be evicted now; without it there is no `/eviction`. */
  eviction?(): Promise<EvictionExplanation | undefined>;
  /** Without it there is no `/stats/summary`. */
  summary?(options: { readonly onlyCPUAndMemory: boolean }): Promise<Summary>;
}

/** What is shown of a pod: all of it, or the pod without secrets. */
export type PodView = (pod: object) => unknown;

const READ = ['GET', 'HEAD'];

export const LOCAL_NOT_FOUND = new RequestError(
  404,
  'not found; served here: /healthz, /pods, /stats/summary, /eviction\n',
);

export function localRoutes(sources: ApiSources, view: PodView): readonly Route[] {
  return [
    { path: '/healthz', methods: READ, handle: (_, response) => healthz(response, sources.health()) },
    { path: '/pods', methods: READ, handle: (_, response) => podList(response, sources.pods(), view) },
    {
      path: '/eviction',
      methods: READ,
      handle: async (_, response) => sendFound(response, await sources.eviction?.()),
    },
    {
      path: '/stats/summary',
      methods: READ,
      handle: async ({ query }, response) => {
        const onlyCPUAndMemory = wantsOnlyCPUAndMemory(query);
        sendFound(response, await sources.summary?.({ onlyCPUAndMemory }));
      },
    },
  ];
}

/** The kubelet's rule: the parameter is given once, and is `true`. */
export function wantsOnlyCPUAndMemory(query: string): boolean {
  const wanted = new URLSearchParams(query).getAll('only_cpu_and_memory');
  return wanted.length === 1 && wanted[0] === 'true';
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  // Node leaves the body out for HEAD.
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) }).end(body);
}

function sendFound(response: ServerResponse, found: unknown): void {
  if (found === undefined) throw LOCAL_NOT_FOUND;
  send(response, 200, 'application/json', JSON.stringify(found));
}

function healthz(response: ServerResponse, problem: string | undefined): void {
  if (problem === undefined) send(response, 200, 'text/plain', 'ok');
  else throw new RequestError(500, `${problem}\n`);
}

/** How many pods are written in one turn of the event loop. */
const PODS_A_TURN = 25;

/** Items of a list do not repeat kind and version. The list is taken at once, so that all pods are of the same moment. */
async function podList(response: ServerResponse, served: Iterable<ServedPod>, view: PodView): Promise<void> {
  const pods = [...served];
  const items: string[] = [];
  for (const pod of pods) {
    if (items.length > 0 && items.length % PODS_A_TURN === 0) await nextTurn();
    items.push(JSON.stringify(view(shownPod(pod))));
  }
  const body = `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[${items.join()}]}`;
  send(response, 200, 'application/json', body);
}

/** With its newest status, and the state of its chart as an annotation. */
export function shownPod({ pod, status, state, waitsFor, ownCpus }: ServedPod): object {
  const { metadata, spec } = pod;
  const annotations = {
    ...metadata.annotations,
    [STATE_ANNOTATION]: state,
    ...(waitsFor !== undefined && { [WAITS_FOR_ANNOTATION]: waitsFor }),
    ...(ownCpus !== undefined && { [OWN_CPUS_ANNOTATION]: ownCpus }),
  };
  return { metadata: { ...metadata, annotations }, spec, status: status ?? pod.status ?? {} };
}
