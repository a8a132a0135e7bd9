/** The read-only HTTP server of a daemon: `/healthz`, `/eviction`, and `/pods` and `/stats/summary` as the kubelet serves them. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { errorMessage } from '../types/errors.ts';
import type { EvictionExplanation } from '../policies/eviction/explanation.ts';
import type { ServedPod } from '../types/served-pod.ts';
import type { Summary } from '../types/stats.ts';
import { listenOnControlSocket } from './control-socket.ts';
import { boundedServer, close, hostPort, listen } from './listen.ts';
import { isForeign } from './own-request.ts';
import { redact } from './redact.ts';

/** The state of the pod's chart, such as `Syncing.Settled`. Only `/pods` sets this annotation. */
export const STATE_ANNOTATION = 'statelet.dev/state';
/** On pods of `/pods` that have not been started, and nowhere else: why, in words for people. */
export const WAITS_FOR_ANNOTATION = 'statelet.dev/waits-for';

export interface ApiSources {
  /** Why the daemon is not healthy; undefined when it is. */
  health(): string | undefined;
  pods(): Iterable<ServedPod>;
  /** Which pods would be evicted now; without it there is no `/eviction`. */
  eviction?(): Promise<EvictionExplanation | undefined>;
  /** Without it there is no `/stats/summary`. */
  summary?(options: { readonly onlyCPUAndMemory: boolean }): Promise<Summary>;
}

export interface ApiServer {
  /** With the port that was bound: `127.0.0.1:10248`, `[::1]:10248`. */
  readonly address: string;
  readonly port: number;
  /** Lets the requests under way finish; resolves when the port is free again. */
  close(): Promise<void>;
}

export interface ApiAddress {
  readonly host: string;
  /** 0 takes any free one. */
  readonly port: number;
  /** Names by which clients may call this machine, in addition to its addresses and localhost. */
  readonly names?: readonly string[];
}

/**
 * The server that everything on the network can reach: it leaves secret values of containers out, and refuses requests that a
 * browser sends for a foreign page. Rejects with `FailedPrecondition` when the port cannot be bound.
 */
export async function startApiServer(
  { host, port, names = [] }: ApiAddress,
  sources: ApiSources,
): Promise<ApiServer> {
  const answerTo = async (request: IncomingMessage) =>
    isForeign(request.headers, [host, ...names]) ? FOREIGN : answer(request, sources, redactPod);
  const server = boundedServer((request, response) => void serve(request, response, answerTo));
  const flags = { portFlag: '--healthz-port (or "auto")', hostFlag: '--healthz-bind-address' };
  const bound = await listen(server, { host, port, what: '/healthz, /pods and /stats/summary', ...flags });
  return { address: hostPort(host, bound), port: bound, close: () => close(server) };
}

/** The server for the owner of the root folder: it serves everything. Rejects with the system's error. Returns its close function. */
export function startControlServer(rootDir: string, sources: ApiSources): Promise<() => Promise<void>> {
  const answerTo = (request: IncomingMessage) => answer(request, sources, (pod) => pod);
  const server = boundedServer((request, response) => void serve(request, response, answerTo));
  return listenOnControlSocket(server, rootDir);
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly type?: string;
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  answerTo: (request: IncomingMessage) => Promise<Answer>,
): Promise<void> {
  const { status, body, type = 'text/plain' } = await answerTo(request);
  if (status === NOT_ALLOWED.status) response.setHeader('Allow', 'GET, HEAD');
  // Node leaves the body out for HEAD.
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) }).end(body);
}

const NOT_ALLOWED: Answer = { status: 405, body: 'read-only: GET and HEAD\n' };
const NOT_FOUND: Answer = {
  status: 404,
  body: 'not found; served here: /healthz, /pods, /stats/summary, /eviction\n',
};
const FOREIGN: Answer = {
  status: 403,
  body: 'refused: Host must be an address or a name of this machine, and Origin the same where there is one\n',
};

type View = (pod: object) => unknown;

const redactPod: View = (pod) => redact(pod);

async function answer(
  { method, url = '/' }: IncomingMessage,
  sources: ApiSources,
  view: View,
): Promise<Answer> {
  if (method !== 'GET' && method !== 'HEAD') return NOT_ALLOWED;
  try {
    const [path, query] = url.split('?', 2);
    if (path === '/healthz') return healthz(sources.health());
    if (path === '/pods') return await podList(sources.pods(), view);
    if (path === '/eviction') return json(await sources.eviction?.());
    return path === '/stats/summary' ? await summary(sources, query) : NOT_FOUND;
  } catch (error) {
    return { status: 500, body: `${errorMessage(error)}\n` };
  }
}

async function summary(sources: ApiSources, query: string | undefined): Promise<Answer> {
  // The kubelet's rule: the parameter is given once, and is `true`.
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

/** How many pods are written in one turn of the event loop. */
const PODS_A_TURN = 25;

/** Items of a list do not repeat kind and version. The list is taken at once, so that all pods are of the same moment. */
async function podList(served: Iterable<ServedPod>, view: View): Promise<Answer> {
  const pods = [...served];
  const items: string[] = [];
  for (const { pod, status, state, waitsFor } of pods) {
    if (items.length > 0 && items.length % PODS_A_TURN === 0) await nextTurn();
    const { metadata, spec } = pod;
    const annotations = {
      ...metadata.annotations,
      [STATE_ANNOTATION]: state,
      ...(waitsFor !== undefined && { [WAITS_FOR_ANNOTATION]: waitsFor }),
    };
    const item = { metadata: { ...metadata, annotations }, spec, status: status ?? pod.status ?? {} };
    items.push(JSON.stringify(view(item)));
  }
  const body = `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[${items.join()}]}`;
  return { status: 200, type: 'application/json', body };
}
