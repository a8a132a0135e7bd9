/** The read-only endpoint for tools and tests: `/healthz`, and `/pods` as the kubelet serves it. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorMessage } from '../types/errors.ts';
import type { Pod, PodStatus } from '../types/kubernetes.ts';
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
  const server = createServer((request, response) => serve(request, response, sources));
  const flags = { portFlag: '--healthz-port (or "auto")', hostFlag: '--healthz-bind-address' };
  const bound = await listen(server, { host, port, what: '/healthz and /pods', ...flags });
  return { address: hostPort(host, bound), port: bound, close: () => close(server) };
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly type?: string;
}

function serve({ method, url = '/' }: IncomingMessage, response: ServerResponse, sources: ApiSources): void {
  const readOnly = method === 'GET' || method === 'HEAD';
  if (!readOnly) response.setHeader('Allow', 'GET, HEAD');
  const { status, body, type = 'text/plain' } = readOnly ? answer(url, sources) : NOT_ALLOWED;
  // Node leaves the body out for HEAD.
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) }).end(body);
}

const NOT_ALLOWED: Answer = { status: 405, body: 'read-only: GET and HEAD\n' };
const NOT_FOUND: Answer = { status: 404, body: 'not found; served here: /healthz, /pods\n' };

function answer(url: string, sources: ApiSources): Answer {
  try {
    const path = url.split('?', 1)[0];
    if (path === '/healthz') return healthz(sources.health());
    return path === '/pods' ? podList(sources.pods()) : NOT_FOUND;
  } catch (error) {
    return { status: 500, body: `${errorMessage(error)}\n` };
  }
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
