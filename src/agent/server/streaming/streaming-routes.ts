/** `/exec`, `/attach`, `/portForward` and `/run`, as the kubelet answers them. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { fullName } from '../../policies/pod/pod-kinds.ts';
import {
  forwardedPorts,
  remoteCommand,
  type RemoteCommand,
  runCommand,
} from '../../policies/server/remote-command-options.ts';
import type { RuntimeService } from '../../runtime/service/runtime-service.ts';
import type { CallOptions, StreamingRuntime } from '../../runtime/service/streaming-runtime.ts';
import type { Container, Pod } from '../../../types/kubernetes.ts';
import type { NodeApi } from '../routes/node-api.ts';
import { NO_SNIFF, RequestError, type Route, type RouteRequest } from '../routes/route.ts';
import { serveCommand } from './command/serve-command.ts';
import { isTunnel, serveForward } from './forward/serve-forward.ts';
import { askRuntime, readySandbox, runningContainer, unlessRefused } from './found-container.ts';
import { STREAM_CREATION_MS, type StreamingLimits } from './streaming-limits.ts';
import { isWebSocket, type UpgradeRequest } from './upgrade/accept.ts';

export interface StreamingApi extends Pick<NodeApi, 'pod' | 'streamingIdleMs'> {
  readonly runtime: Pick<RuntimeService, 'listContainers' | 'listPodSandbox' | 'execSync' | 'streaming'>;
}

const METHODS = ['GET', 'POST'];
const UPGRADE_REQUIRED = new RequestError(500, 'Upgrade request required\n', NO_SNIFF);

export function streamingRoutes(api: StreamingApi, creationMs = STREAM_CREATION_MS): readonly Route[] {
  const limits = { idleMs: api.streamingIdleMs, creationMs };
  return [
    ...commandRoutes('exec', api, limits),
    ...commandRoutes('attach', api, limits),
    ...forwardRoutes(api, limits),
    ...runRoutes(api),
  ];
}

function commandRoutes(
  kind: 'exec' | 'attach',
  api: StreamingApi,
  limits: StreamingLimits,
): readonly Route[] {
  const route: Omit<Route, 'path'> = {
    methods: METHODS,
    handle: async (request, response) => {
      const asked = commandOf(request, api, await requestForm(request.raw));
      const gone = new AbortController();
      response.once('close', () => gone.abort());
      await foundContainer(kind, asked, api, gone);
      throw UPGRADE_REQUIRED;
    },
    upgrade: async (request, socket, head) => {
      const asked = commandOf(request, api);
      const client = { raw: request.raw, socket, head };
      await upgradeCommand(kind, asked, client, { api, limits });
    },
  };
  const paths = [':container', ':uid/:container'];
  return paths.map((path) => ({ ...route, path: `/${kind}/:namespace/:pod/${path}` }));
}

interface AskedCommand {
  readonly pod: Pod;
  /** As the path has it; empty: any. */
  readonly uid: string;
  readonly container: string;
  readonly options: RemoteCommand;
}

/** Throws a `RequestError` for a request that is refused before the runtime is asked. */
function commandOf({ params, query }: RouteRequest, api: StreamingApi, form = ''): AskedCommand {
  const { namespace = '', pod: name = '', uid = '', container = '' } = params;
  const pod = api.pod(namespace, name)?.pod;
  const options = unlessRefused(remoteCommand({ query, form }, pod !== undefined));
  // The options are refused for an unknown pod.
  if (!pod) throw new RequestError(404, 'pod does not exist');
  return { pod, uid, container, options };
}

interface Serving {
  readonly api: StreamingApi;
  readonly limits: StreamingLimits;
}

async function upgradeCommand(
  kind: 'exec' | 'attach',
  asked: AskedCommand,
  client: UpgradeRequest,
  { api, limits }: Serving,
): Promise<void> {
  const { signal } = watch(client.socket, limits);
  const { id: containerId, tty } = await foundContainer(kind, asked, api, { signal });
  const streaming = streamingOf(api.runtime.streaming);
  const { command, ...options } = asked.options;
  if (kind === 'exec') {
    const start = () => streaming.exec({ ...options, containerId, command }, { signal });
    await serveCommand(client, { kind, streams: options, start, signal, limits });
    return;
  }
  const streams = { ...options, tty, stderr: options.stderr && !tty };
  const start = () => streaming.attach({ ...streams, containerId }, { signal });
  await serveCommand(client, { kind, streams, start, signal, limits });
}

/** Throws a `RequestError` where the container does not run, or is not one of the pod. */
async function foundContainer(
  kind: 'exec' | 'attach',
  { pod, uid, container }: AskedCommand,
  { runtime }: StreamingApi,
  call: CallOptions,
): Promise<{ readonly id: string; readonly tty: boolean }> {
  const id = await askRuntime(runningContainer(runtime, pod.metadata.uid, container, call));
  const spec = specOf(pod, container);
  const tty = spec?.tty ?? false;
  if (kind === 'exec') {
    if (id === undefined) throw new RequestError(500, `container not found ("${container}")`);
    return { id, tty };
  }
  const podName = fullName(pod.metadata);
  if (id === undefined || !spec) {
    throw new RequestError(500, `container ${container} not found in pod ${podName}`);
  }
  if (uid !== '' && uid !== pod.metadata.uid) throw new RequestError(500, `pod ${podName} not found`);
  return { id, tty };
}

function specOf({ spec }: Pod, name: string): Pick<Container, 'tty'> | undefined {
  const all = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
  return all.find((container) => container.name === name);
}

function streamingOf(streaming: StreamingRuntime | undefined): StreamingRuntime {
  if (streaming) return streaming;
  throw new RequestError(501, 'the container runtime of this node cannot exec, attach or forward ports\n');
}

/** The signal aborts when the client is gone. A connection without traffic for `idleMs` is closed. */
function watch(socket: Duplex, { idleMs }: StreamingLimits): { readonly signal: AbortSignal } {
  const gone = new AbortController();
  socket.once('close', () => gone.abort());
  if (isTimed(socket)) socket.setTimeout(idleMs, () => socket.destroy());
  return gone;
}

interface Timed {
  setTimeout(ms: number, late: () => void): unknown;
}

const isTimed = (socket: Duplex): socket is Duplex & Timed => 'setTimeout' in socket;

function forwardRoutes(api: StreamingApi, limits: StreamingLimits): readonly Route[] {
  const route: Omit<Route, 'path'> = {
    methods: METHODS,
    handle: (request) => {
      forwardOf(request, api);
      throw UPGRADE_REQUIRED;
    },
    upgrade: async (request, socket, head) => {
      const asked = forwardOf(request, api);
      await upgradeForward(asked, { raw: request.raw, socket, head }, { api, limits });
    },
  };
  return ['', '/:uid'].map((path) => ({ ...route, path: `/portForward/:namespace/:pod${path}` }));
}

interface AskedForward {
  readonly pod: Pod;
  readonly ports: readonly number[];
}

function forwardOf({ raw, params, query }: RouteRequest, api: StreamingApi): AskedForward {
  const { namespace = '', pod: name = '', uid = '' } = params;
  const pod = api.pod(namespace, name)?.pod;
  const namesPorts = isWebSocket(raw) && !isTunnel({ raw });
  const ports = unlessRefused(forwardedPorts({ query, isWebSocket: namesPorts, uid }, pod?.metadata.uid));
  if (!pod) throw new RequestError(404, 'pod does not exist');
  return { pod, ports };
}

async function upgradeForward(
  { pod, ports }: AskedForward,
  client: UpgradeRequest,
  { api: { runtime }, limits }: Serving,
): Promise<void> {
  const { signal } = watch(client.socket, limits);
  const { uid: podUid } = pod.metadata;
  const podName = fullName(pod.metadata);
  const podSandboxId = await askRuntime(readySandbox(runtime, podUid, { signal }));
  if (podSandboxId === undefined) throw new RequestError(500, `pod not found ("${podName}")`);
  const streaming = streamingOf(runtime.streaming);
  const start = () => streaming.portForward({ podSandboxId, ports }, { signal });
  await serveForward(client, { ports, podName, podUid, start, signal, limits });
}

/** `/run`: a command without streams; the answer is its output. */
function runRoutes(api: Pick<StreamingApi, 'pod' | 'runtime'>): readonly Route[] {
  const route: Omit<Route, 'path'> = {
    methods: ['POST'],
    handle: async ({ params, query }, response) => {
      const { namespace = '', pod: name = '', container = '' } = params;
      const pod = api.pod(namespace, name)?.pod;
      const command = unlessRefused(runCommand(query, pod !== undefined));
      const { runtime } = api;
      const gone = new AbortController();
      response.once('close', () => gone.abort());
      const { signal } = gone;
      const id = await askRuntime(runningContainer(runtime, pod?.metadata.uid ?? '', container, { signal }));
      if (id === undefined) throw new RequestError(500, `container not found ("${container}")`);
      const { exitCode, stdout, stderr } = await askRuntime(runtime.execSync(id, command, 0, { signal }));
      if (exitCode !== 0) {
        throw new RequestError(
          500,
          `command '${command.join(' ')}' exited with ${exitCode}: ${stderr.toString()}`,
        );
      }
      const body = Buffer.concat([stdout, stderr]);
      response
        .writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length })
        .end(body);
    },
  };
  const paths = [':container', ':uid/:container'];
  return paths.map((path) => ({ ...route, path: `/run/:namespace/:pod/${path}` }));
}

/** The parameters of a command have some hundred bytes. */
const FORM_BYTES_MAX = 1024 * 1024;

/** The form in the body of a request; empty if it has none. */
async function requestForm(request: IncomingMessage): Promise<string> {
  const type = request.headers['content-type'] ?? '';
  if (type.split(';', 1)[0]?.trim().toLowerCase() !== 'application/x-www-form-urlencoded') return '';
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > FORM_BYTES_MAX)
      throw new RequestError(413, `the form has more than ${FORM_BYTES_MAX} bytes\n`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}
