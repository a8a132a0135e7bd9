/** The read-only endpoint for tools and tests: `/healthz`, and `/pods` and `/stats/summary` as the kubelet serves them. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorMessage } from '../types/errors.ts';
import type { EvictionExplanation } from '../policies/eviction-explanation.ts';
import type { Pod, PodStatus } from '../types/kubernetes.ts';
import type { Summary } from '../types/stats.ts';
import { close, hostPort, listen } from './listen.ts';

/** On each pod of `/pods`, and nowhere else: the state of its chart, as `Syncing.Settled`. */
export const STATE_ANNOTATION = 'statelet.dev/state';

export interface ServedPod {
  readonly pod: Pod;
  /** The status as computed here; without one the pod's own stands. */
  readonly status?: PodStatus;
  readonly state: string;
}

export interface ApiSources {
  /** Why the daemon is not healthy; undefined when it is. */
  health(): string | undefined;
  pods(): Iterable<ServedPod>;
  /** Who would be evicted now; without it there is no `/eviction`. */
  eviction?(): Promise<EvictionExplanation | undefined>;
  /** Without it there is no `/stats/summary`. */
  summary?(options: { readonly onlyCPUAndMemory: boolean }): Promise<Summary>;
}

export interface ApiServer {
  /** As bound: `127.0.0.1:10248`, `[::1]:10248`. */
  readonly address: string;
  readonly port: number;
  /** Lets requests under way finish; resolves when the port is free again. */
  close(): Promise<void>;
}

/** `port` 0 takes any free one. Rejects with `FailedPrecondition` when the port cannot be had. */
export async function startApiServer(host: string, port: number, sources: ApiSources): Promise<ApiServer> {
  const server = createServer((request, response) => void serve(request, response, sources));
  const flags = { portFlag: '--healthz-port (or "auto")', hostFlag: '--healthz-bind-address' };
  const bound = await listen(server, { host, port, what: '/healthz, /pods and /stats/summary', ...flags });
  return { address: hostPort(host, bound), port: bound, close: () => close(server) };
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly type?: string;
}

async function serve(
  { method, url = '/' }: IncomingMessage,
  response: ServerResponse,
  sources: ApiSources,
): Promise<void> {
  const readOnly = method === 'GET' || method === 'HEAD';
  if (!readOnly) response.setHeader('Allow', 'GET, HEAD');
  const { status, body, type = 'text/plain' } = readOnly ? await answer(url, sources) : NOT_ALLOWED;
  // Node leaves the body out for HEAD.
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) }).end(body);
}

const NOT_ALLOWED: Answer = { status: 405, body: 'read-only: GET and HEAD\n' };
const NOT_FOUND: Answer = {
  status: 404,
  body: 'not found; served here: /healthz, /pods, /stats/summary, /eviction\n',
};

async function answer(url: string, sources: ApiSources): Promise<Answer> {
  try {
    const [path, query] = url.split('?', 2);
    if (path === '/healthz') return healthz(sources.health());
    if (path === '/pods') return podList(sources.pods());
    if (path === '/eviction') return json(await sources.eviction?.());
    return path === '/stats/summary' ? await summary(sources, query) : NOT_FOUND;
  } catch (error) {
    return { status: 500, body: `${errorMessage(error)}\n` };
  }
}

async function summary(sources: ApiSources, query: string | undefined): Promise<Answer> {
  // As with the kubelet, `true` once and nothing else.
  const wanted = new URLSearchParams(query).getAll('only_cpu_and_memory');
  const found = await sources.summary?.({ onlyCPUAndMemory: wanted.length === 1 && wanted[0] === 'true' });
  return json(found);
}

function json(found: unknown): Answer {
  return found ? { status: 200, type: 'application/json', body: JSON.stringify(found) } : NOT_FOUND;
}

function healthz(problem: string | undefined): Answer {
  return problem === undefined ? { status: 200, body: 'ok' } : { status: 500, body: `${problem}\n` };
}

/** Items of a list do not repeat kind and version. */
function podList(pods: Iterable<ServedPod>): Answer {
  const items = Array.from(pods, ({ pod, status, state }) => {
    const { metadata, spec } = pod;
    const annotations = { ...metadata.annotations, [STATE_ANNOTATION]: state };
    return { metadata: { ...metadata, annotations }, spec, status: status ?? pod.status ?? {} };
  });
  const body = JSON.stringify({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items });
  return { status: 200, type: 'application/json', body };
}
