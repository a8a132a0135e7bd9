/** Requests that the double passes on to the server of a node: logs, streams, ports, and the node's own paths. */
import { readFileSync } from 'node:fs';
import https from 'node:https';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { connect } from 'node:tls';
import { text } from 'node:stream/consumers';
import type { UpgradeRequest } from '../../../src/agent/server/streaming/upgrade/accept.ts';
import type { CertificateAuthority } from '../control-plane/certificates.ts';
import type { AnyObject, Draft } from './context.ts';
import type { ResourceRequest } from './requests.ts';
import { badRequest, internalError, StatusError } from './status-error.ts';
import { type SpdyAnswer, translationOf } from './stream-translation.ts';

const BODY_MAX = 50_000;
const OWN_HEADERS = new Set([
  'authorization',
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'keep-alive',
]);

interface Credentials {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export class NodeProxy {
  readonly #credentials: Credentials;

  constructor(ca: CertificateAuthority) {
    const { cert, key } = ca.filesOf('apiserver-kubelet-client');
    const [caText = '', certText = '', keyText = ''] = [ca.files.cert, cert, key].map((file) =>
      readFileSync(file, 'utf8'),
    );
    this.#credentials = { ca: caText, cert: certText, key: keyText };
  }

  /** The node's answer. `signal`: the client has gone. */
  ask(node: AnyObject, path: string, options: AskOptions): Promise<IncomingMessage> {
    const { method, headers, body, signal } = options;
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const kept = Object.entries(headers).filter(([name]) => !name.startsWith(':') && !OWN_HEADERS.has(name));
    const request = https.request({
      ...this.#placeOf(node, path),
      method,
      headers: { ...Object.fromEntries(kept), ...(body && { 'content-length': body.length }) },
      ...(signal && { signal }),
    });
    request.once('response', resolve);
    request.once('error', (error) => reject(dialError(error)));
    request.end(body);
    return promise;
  }

  #placeOf(node: AnyObject, path: string): https.RequestOptions {
    return { ...addressOf(node), path, agent: false, ...this.#credentials };
  }

  /** Translates a request to upgrade that the node does not understand, and passes others on as they are. */
  upgrade({ node, path }: NodePlace, asked: ResourceRequest, client: UpgradeRequest): void {
    const translation = translationOf(client.raw, asked, node);
    if (translation === undefined) {
      this.#passOn({ node, path }, client);
      return;
    }
    translation(client, (protocols) => this.#askForSpdy({ node, path }, protocols)).catch(
      (error: unknown) => {
        client.socket.end(rawAnswer(500, JSON.stringify(dialError(error as Error).body)));
      },
    );
  }

  #askForSpdy({ node, path }: NodePlace, protocols: readonly string[]): Promise<SpdyAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<SpdyAnswer>();
    const request = https.request({
      ...this.#placeOf(node, path),
      method: 'POST',
      headers: {
        connection: 'Upgrade',
        upgrade: 'SPDY/3.1',
        'x-stream-protocol-version': [...protocols],
      },
    });
    request.once('upgrade', (response, socket, head) => {
      socket.on('error', () => undefined);
      if (head.length > 0) socket.unshift(head);
      resolve({ response, socket });
    });
    request.once('response', (response) => resolve({ response }));
    request.once('error', reject);
    request.end();
    return promise;
  }

  /** The request, and then the bytes of both sides. */
  #passOn({ node, path }: NodePlace, { raw: request, socket: client, head }: UpgradeRequest): void {
    const { host, port } = addressOf(node);
    const { ca, cert, key } = this.#credentials;
    const upstream = connect({ host, port, ca, cert, key, ALPNProtocols: ['http/1.1'], servername: '' });
    upstream.setNoDelay(true);
    const end = () => {
      upstream.destroy();
      client.destroy();
    };
    upstream.once('error', (error) => {
      if (upstream.bytesRead === 0) {
        const { body } = dialError(error);
        client.end(rawAnswer(500, JSON.stringify(body)));
      }
      end();
    });
    client.once('error', end);
    upstream.once('secureConnect', () => {
      const lines = [`${request.method ?? 'GET'} ${path} HTTP/1.1`, `Host: ${host}:${port}`];
      for (const [name, value] of Object.entries(request.headers))
        if (name === 'connection' || !OWN_HEADERS.has(name)) lines.push(`${name}: ${String(value)}`);
      upstream.write(`${lines.join('\r\n')}\r\n\r\n`);
      upstream.write(head);
      upstream.pipe(client);
      client.pipe(upstream);
    });
  }
}

export interface NodePlace {
  readonly node: AnyObject;
  readonly path: string;
}

export interface AskOptions {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body?: Buffer;
  readonly signal?: AbortSignal;
}

/** The error in the words of a Go server, as far as clients and tests read them. */
function dialError({ message }: Error): StatusError {
  const why = message.includes('alert handshake failure') ? 'remote error: tls: handshake failure' : message;
  return internalError(`error dialing backend: ${why}`);
}

/** The headers of the node's answer that the client gets. */
export function passedHeaders(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const passed = Object.entries(headers).filter(
    ([name, value]) => value !== undefined && !OWN_HEADERS.has(name),
  );
  return Object.fromEntries(passed) as Record<string, string | string[]>;
}

export function rawAnswer(status: number, body: string): string {
  const head = [
    `HTTP/1.1 ${status} ${status === 403 ? 'Forbidden' : 'Error'}`,
    'Content-Type: application/json',
  ];
  return [...head, `Content-Length: ${Buffer.byteLength(body)}`, 'Connection: close', '', body].join('\r\n');
}

function addressOf({ metadata, status }: AnyObject): { readonly host: string; readonly port: number } {
  const host = ((status?.addresses ?? []) as Draft[]).find(({ type }) => type === 'InternalIP')?.address as
    | string
    | undefined;
  if (host === undefined)
    throw internalError(`no preferred addresses found; known addresses: [] of node ${metadata.name}`);
  return { host, port: Number(status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 10250) };
}

/** Options of a subresource of a pod as the node's paths name them. */
const NAMES: Readonly<Record<string, string>> = {
  stdin: 'input',
  stdout: 'output',
  stderr: 'error',
  tty: 'tty',
};
const LOG_OPTIONS = [
  'follow',
  'previous',
  'sinceSeconds',
  'sinceTime',
  'timestamps',
  'tailLines',
  'limitBytes',
  'stream',
];

/** The path at the node: `/exec/default/web/main?command=sh&input=1`. */
export function nodePath(
  { subresource, query, name, namespace = '' }: ResourceRequest,
  pod: AnyObject,
): string {
  const place = `${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
  if (subresource === 'portforward') {
    const ports = query.getAll('ports').map((port) => `port=${encodeURIComponent(port)}`);
    return `/portForward/${place}${ports.length > 0 ? `?${ports.join('&')}` : ''}`;
  }
  const container = containerOf(pod, query.get('container'), subresource);
  const params = new URLSearchParams();
  if (subresource === 'log') {
    for (const option of LOG_OPTIONS) {
      const value = query.get(option);
      if (value !== null && value !== 'false') params.set(option, value);
    }
  } else {
    for (const [option, own] of Object.entries(NAMES))
      if (/^(?:true|1)$/.test(query.get(option) ?? '')) params.set(own, '1');
    for (const command of query.getAll('command')) params.append('command', command);
  }
  const path = { log: 'containerLogs', exec: 'exec', attach: 'attach' }[subresource] ?? subresource;
  const text = params.toString();
  return `/${path}/${place}/${encodeURIComponent(container)}${text === '' ? '' : `?${text}`}`;
}

function containerOf(pod: AnyObject, asked: string | null, subresource: string): string {
  const namesOf = (list: string) => ((pod.spec[list] ?? []) as Draft[]).map(({ name }) => String(name));
  const [containers, inits, ephemeral] = [
    namesOf('containers'),
    namesOf('initContainers'),
    namesOf('ephemeralContainers'),
  ];
  if (asked !== null && asked !== '') {
    if ([...containers, ...inits, ...ephemeral].includes(asked)) return asked;
    throw badRequest(`container ${asked} is not valid for pod ${pod.metadata.name}`);
  }
  const [only, ...more] = containers;
  if (only !== undefined && (more.length === 0 || subresource === 'attach')) return only;
  const init = inits.length > 0 ? ` or one of the init containers: [${inits.join(' ')}]` : '';
  throw badRequest(
    `a container name must be specified for pod ${pod.metadata.name}, choose one of: [${containers.join(' ')}]${init}`,
  );
}

/** The client's answer when a node does not answer properly. */
export async function nodeRefusal(answer: IncomingMessage, name: string): Promise<StatusError> {
  const body = (await text(answer)).slice(0, BODY_MAX);
  const code = answer.statusCode ?? 500;
  if (code === 400) return badRequest(body);
  if (code === 500) return internalError(body);
  const reason = code === 404 ? 'NotFound' : code === 403 ? 'Forbidden' : code === 401 ? 'Unauthorized' : '';
  const message = code === 404 ? 'the server could not find the requested resource' : body;
  return new StatusError(code, reason, `${message}${code === 404 ? ` ( pods/log ${name})` : ''}`, {
    name,
    kind: 'pods',
  });
}
