/** `statelet port-forward`: connections to ports of this machine become connections to ports of a pod. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { parsePort } from '../../agent/policies/server/remote-command-options.ts';
import { hostPort } from '../../agent/server/listen.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { chosenPod, type NamespaceFlags } from './chosen-pod.ts';
import { type FolderFlags, withDaemon } from './daemon-connection.ts';
import { ForwardedPod } from './forwarded-pod.ts';
import { pathOf } from './spdy-request.ts';
import { NEVER_ABORTED } from '../../system/promises.ts';

export interface PortForwardFlags extends FolderFlags, NamespaceFlags {
  readonly address?: string;
}

export interface ForwardingTeller {
  line(text: string): void;
  /** One connection has failed. Others go on. */
  problem(text: string): void;
}

export interface ForwardedPort {
  /** 0: any free one. */
  readonly local: number;
  readonly remote: number;
}

const LOCALHOST = ['127.0.0.1', '::1'];

/** Goes on until `signal` ends it, or the pod cannot be reached any more. */
export async function portForward(
  name: string,
  ports: readonly string[],
  flags: PortForwardFlags,
  tell: ForwardingTeller,
  signal: AbortSignal = NEVER_ABORTED,
): Promise<void> {
  const addresses = addressesOf(flags.address ?? 'localhost');
  await withDaemon(flags, async (daemon) => {
    const pod = await chosenPod(daemon, name, flags);
    const wanted = ports.map((port) => parseForwardedPort(port, pod));
    const { metadata } = pod;
    const forwarded = new ForwardedPod(daemon, pathOf('portForward', metadata.namespace, metadata.name));
    const servers: Server[] = [];
    try {
      await forwarded.reach();
      for (const port of wanted) servers.push(...(await listenAll(port, addresses, forwarded, tell)));
      await Promise.race([aborted(signal), aborted(forwarded.lost)]);
      forwarded.lost.throwIfAborted();
    } finally {
      for (const server of servers) server.close();
      forwarded.close();
    }
  });
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

/** `LOCAL:REMOTE`, `:REMOTE` or `PORT`; the remote one may be the name of a port of the pod. Throws for anything else. */
export function parseForwardedPort(text: string, pod: Pod): ForwardedPort {
  const parts = text.split(':');
  const [first = '', second = first] = parts;
  if (parts.length > 2 || second === '') throw wrongPort(text, 'PORT, LOCAL:REMOTE or :REMOTE is expected');
  const remote = portNumber(second) ?? namedPort(pod, second);
  if (remote === undefined)
    throw wrongPort(text, `pod ${pod.metadata.name} has no port of the name "${second}"`);
  if (remote === 0) throw wrongPort(text, 'the port of the pod must be greater than 0');
  if (parts.length === 1) return { local: remote, remote };
  const local = first === '' ? 0 : portNumber(first);
  if (local === undefined) throw wrongPort(text, `"${first}" is no port of this machine`);
  return { local, remote };
}

function wrongPort(text: string, problem: string): StateletError {
  return new StateletError('InvalidArgument', `port "${text}": ${problem}`);
}

/** Undefined for a name. Throws for a number that is no port. */
function portNumber(text: string): number | undefined {
  if (!/^\d+$/u.test(text)) return undefined;
  if (text === '0') return 0;
  const port = parsePort(text);
  if (typeof port === 'number') return port;
  throw wrongPort(text, 'it must be from 0 to 65535');
}

function namedPort({ spec }: Pod, name: string): number | undefined {
  const ports = [...spec.containers, ...(spec.initContainers ?? [])].flatMap(
    (container) => container.ports ?? [],
  );
  return ports.find((port) => port.name === name)?.containerPort;
}

interface Address {
  readonly host: string;
  /** Another address of the same name is enough. */
  readonly isOptional: boolean;
}

function addressesOf(text: string): readonly Address[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.includes(''))
    throw new StateletError('InvalidArgument', `--address: "${text}" has an empty address`);
  return names.flatMap((name): readonly Address[] =>
    name === 'localhost'
      ? LOCALHOST.map((host) => ({ host, isOptional: true }))
      : [{ host: name, isOptional: false }],
  );
}

/** The same local port at all addresses. Rejects where none of them can be had, or one that was named. */
async function listenAll(
  { local, remote }: ForwardedPort,
  addresses: readonly Address[],
  forwarded: ForwardedPod,
  tell: ForwardingTeller,
): Promise<readonly Server[]> {
  const servers: Server[] = [];
  let port = local;
  let problem: unknown;
  for (const { host, isOptional } of addresses) {
    try {
      const server = await listen(host, port, (socket) => {
        tell.line(`Handling connection for ${String(port)}`);
        forwarded.carry(socket, remote, (problem) =>
          tell.problem(`an error occurred forwarding ${String(port)} -> ${String(remote)}: ${problem}`),
        );
      });
      servers.push(server);
      ({ port } = server.address() as AddressInfo);
      tell.line(`Forwarding from ${hostPort(host, port)} -> ${String(remote)}`);
    } catch (error) {
      problem = error;
      if (!isOptional) break;
    }
  }
  if (servers.length > 0 && problem === undefined) return servers;
  if (servers.length > 0 && addresses.every(({ isOptional }) => isOptional)) return servers;
  for (const server of servers) server.close();
  throw new StateletError(
    'FailedPrecondition',
    `cannot listen on port ${String(local)}: ${errorMessage(problem)}`,
  );
}

async function listen(host: string, port: number, onConnection: (socket: Socket) => void): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, onConnection);
  server.listen(port, host);
  await once(server, 'listening');
  return server;
}
