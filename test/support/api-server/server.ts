/** The double of the API server: HTTPS with HTTP/1.1 and HTTP/2 over the store of the simulation. */
import { readFileSync } from 'node:fs';
import type http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { ApiStore } from '../../../src/simulation/api/api-store.ts';
import { CertificateAuthority } from '../control-plane/certificates.ts';
import { ApiObjects, served } from './api-objects.ts';
import { Authentication, type PeerSocket } from './authentication.ts';
import { Authorization } from './authorization.ts';
import { createSystemObjects } from './bootstrap.ts';
import type { DoubleOptions, Store, User } from './context.ts';
import { discovered, VERSION } from './discovery.ts';
import { DoubleConnections } from './faults/connections.ts';
import { serveControl } from './faults/control.ts';
import type { FaultyRequest } from './faults/fault-rules.ts';
import { Faults } from './faults/faults.ts';
import { isCarriedOut, sendFaulty } from './faults/faulty-answers.ts';
import { type Asked, handle, type HandlerHost } from './handlers.ts';
import { keepJournal } from './journal.ts';
import { nodeMetrics } from './node-metrics.ts';
import { NodeProxy, nodePath, nodeRefusal, passedHeaders, rawAnswer } from './node-proxy.ts';
import { openApi } from './open-api.ts';
import { protobufObject } from './protobuf.ts';
import { resourceRequest, type ResourceRequest } from './requests.ts';
import { typeOf } from './served-types.ts';
import { badRequest, internalError, noSuchPath, notFound, StatusError, tooLarge } from './status-error.ts';
import { table, wantsTable } from './tables.ts';
import { ServiceAccountTokens } from './tokens.ts';
import { WatchCounts } from './watch-counts.ts';
import { beginWatch, errorLine } from './watches.ts';

type Request = http.IncomingMessage;
type Response = http.ServerResponse;

const BODY_BYTES_MAX = 3 * 1024 * 1024;
/** A client that does not read loses its watch. */
const UNSENT_BYTES_MAX = 16 * 1024 * 1024;
const HEALTH = new Set(['/healthz', '/livez', '/readyz']);
const STREAMS = new Set(['exec', 'attach', 'portforward']);
const TLS_HANDSHAKE = 0x16;

export class DoubleServer implements HandlerHost {
  readonly store: Store = new ApiStore<string>();
  readonly objects: ApiObjects;
  readonly tokens: ServiceAccountTokens;
  readonly authorization: Authorization;
  readonly ca: CertificateAuthority;
  readonly now: () => number;
  readonly faults = new Faults(new DoubleConnections());
  readonly #authentication: Authentication;
  readonly #proxy: NodeProxy;
  readonly #options: DoubleOptions;
  readonly #watched = new WatchCounts();
  /** How far its clock is ahead of the machine's. */
  #aheadMs = 0;
  #tls: http2.Http2SecureServer | undefined;

  constructor(options: DoubleOptions) {
    const { dir, serviceAccounts } = options;
    this.#options = options;
    this.now = () => Date.now() + this.#aheadMs;
    this.ca = new CertificateAuthority(join(dir, 'pki'));
    keepJournal(this.store, join(dir, 'journal.jsonl'));
    const signingKey = readFileSync(this.ca.filesOf('service-accounts').key, 'utf8');
    this.objects = new ApiObjects({ store: this.store, now: this.now, serviceAccounts });
    this.tokens = new ServiceAccountTokens(signingKey, this.store, this.now);
    this.authorization = new Authorization(this.store);
    this.#authentication = new Authentication(this.store, this.tokens, this.now);
    this.#proxy = new NodeProxy(this.ca);
    createSystemObjects(this.objects);
    // The changes that made the first objects are forgotten.
    this.store.compact();
  }

  async listen(): Promise<void> {
    const tls = { ...this.#credentials('apiserver'), requestCert: true, rejectUnauthorized: false };
    const server = http2.createSecureServer({ ...tls, allowHTTP1: true });
    this.#tls = server;
    // A Go server sends no limit for idle connections.
    Object.assign(server, { keepAliveTimeout: 0 });
    server.on('request', (request, response) => {
      void this.#take(request as unknown as Request, response as unknown as Response);
    });
    server.on('upgrade', (request: Request, socket: Duplex, head: Buffer) =>
      this.#upgrade(request, socket, head),
    );
    server.on('sessionError', () => undefined).on('tlsClientError', () => undefined);
    const front = net.createServer({ noDelay: true }, (socket) => {
      this.faults.connections.add(socket);
      takeConnection(socket, server);
    });
    await new Promise<void>((resolve, reject) => {
      front.once('error', reject).listen(this.#options.port, '127.0.0.1', resolve);
    });
    await serveControl(this, this.#options.dir);
  }

  /** For new connections. */
  serveCertificate(name: string): void {
    this.#tls?.setSecureContext(this.#credentials(name));
  }

  setAhead(aheadMs: number): void {
    this.#aheadMs = aheadMs;
  }

  compact(): void {
    this.store.compact();
  }

  #credentials(name: string) {
    const { cert, key } = this.ca.filesOf(name);
    const [ca, certText, keyText] = [this.ca.files.cert, cert, key].map((file) => readFileSync(file, 'utf8'));
    return { ca, cert: certText, key: keyText };
  }

  async #take(request: Request, response: Response): Promise<void> {
    response.on('error', () => undefined);
    response.setHeader('date', new Date(this.now()).toUTCString());
    const warnings: string[] = [];
    try {
      await this.#answer(request, response, warnings);
    } catch (error) {
      const refusal = error instanceof StatusError ? error : internalError(String((error as Error).stack));
      if (response.headersSent) response.destroy();
      else
        send(response, refusal.code, refusal.body, {
          ...refusalHeaders(refusal),
          ...warningHeader(warnings),
        });
    }
  }

  async #answer(request: Request, response: Response, warnings: string[]): Promise<void> {
    const user = this.#authentication.userOf(request.socket as unknown as PeerSocket, request.headers);
    const url = urlOf(request);
    const method = request.method ?? 'GET';
    const accept = request.headers.accept ?? '';
    const asked = resourceRequest(method, url);
    if (asked === undefined) {
      this.authorization.checkPath(user, method, url.pathname);
      this.#answerPath(url.pathname, accept, response);
      return;
    }
    const { remotePort } = request.socket;
    const faulty: FaultyRequest = { asked, user, method, path: url.pathname + url.search, remotePort };
    const fate = this.faults.answerFate(faulty);
    if (fate !== undefined && !(await isCarriedOut(fate, response))) return;
    this.authorization.check(user, asked);
    if (asked.verb === 'watch') this.#watch(faulty, accept, response);
    else if (asked.subresource === 'log' || asked.subresource === 'proxy')
      await this.#pass(asked, request, response);
    else if (STREAMS.has(asked.subresource)) throw badRequest('Upgrade request required');
    else if (asked.type.group === 'metrics.k8s.io')
      send(
        response,
        200,
        await nodeMetrics(asked, this.store, (node, path) =>
          this.#proxy.ask(node, path, { method: 'GET', headers: {} }),
        ),
      );
    else {
      const contentType = (request.headers['content-type'] ?? '').split(';')[0]?.trim() ?? '';
      const sent = await bodyOf(request);
      const body = await parsedBody(sent, contentType);
      const text = contentType.includes('json') || contentType === '' ? sent.toString() : '';
      const userAgent = request.headers['user-agent'] ?? '';
      const work: Asked = { request: asked, user, accept, contentType, userAgent, body, text, warnings };
      const answer = handle(this, work);
      if (fate === undefined) send(response, answer.code, answer.body, warningHeader(warnings));
      else await sendFaulty(fate, answer, { request: faulty, response, faults: this.faults });
    }
  }

  #answerPath(path: string, accept: string, response: Response): void {
    if (HEALTH.has(path)) {
      response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end('ok');
      return;
    }
    if (path === '/metrics') {
      response.writeHead(200, { 'content-type': 'text/plain' }).end(this.#watched.text());
      return;
    }
    if (path === '/version') {
      send(response, 200, VERSION);
      return;
    }
    const schema = openApi(path, accept);
    if (schema !== undefined) {
      response.writeHead(200, { 'content-type': schema.contentType }).end(schema.body);
      return;
    }
    const found = discovered(path.replace(/\/$/u, ''), accept);
    if (found === undefined) {
      response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('404 page not found\n');
      return;
    }
    send(response, 200, found.body, { 'content-type': found.contentType });
  }

  #watch(request: FaultyRequest, accept: string, response: Response): void {
    const { asked } = request;
    const { type, query } = asked;
    const asTable = wantsTable(accept);
    let isFirst = true;
    const serve = (object: Parameters<typeof served>[0] & { readonly metadata: object }) => {
      if (!asTable) return served(object, type);
      const { resourceVersion } = object.metadata as { resourceVersion: string };
      const options = { type, query, now: this.now(), metadata: { resourceVersion }, hasColumns: isFirst };
      isFirst = false;
      return table([object as Parameters<typeof table>[0][number]], options);
    };
    const sink = this.faults.watchSink(request, {
      write: (line: string) => {
        response.write(line);
        return response.writableLength < UNSENT_BYTES_MAX;
      },
      end: () => void response.end(),
    });
    const head = () => response.writeHead(200, { 'content-type': 'application/json' });
    try {
      // Earlier events wait until the head is written.
      const lines: string[] = [];
      let isBegun = false;
      const write = (line: string) => (isBegun ? sink.write(line) : lines.push(line) > 0);
      const stop = beginWatch({
        store: this.store,
        request: asked,
        serve,
        sink: { write, end: () => sink.end() },
      });
      head();
      isBegun = true;
      for (const line of lines) sink.write(line);
      if ('flushHeaders' in response) response.flushHeaders();
      const forget = this.#watched.add(asked);
      response.once('close', () => {
        stop();
        forget();
        sink.end();
      });
    } catch (error) {
      if (!(error instanceof StatusError) || error.code !== 410) throw error;
      head();
      response.end(errorLine(error));
    }
  }

  /** Passes on requests for logs of a pod, and for the paths of a node. */
  async #pass(asked: ResourceRequest, request: Request, response: Response): Promise<void> {
    const { node, path } = this.#nodePlace(asked, new URL(urlOf(request)));
    const controller = new AbortController();
    response.once('close', () => controller.abort());
    const body = await bodyOf(request);
    const { method = 'GET', headers } = request;
    const answer = await this.#proxy.ask(node, path, { method, headers, body, signal: controller.signal });
    const code = answer.statusCode ?? 500;
    if (asked.subresource === 'log' && code >= 300) throw await nodeRefusal(answer, asked.name);
    response.writeHead(code, passedHeaders(answer.headers));
    answer.on('error', () => response.destroy());
    answer.pipe(response);
  }

  #nodePlace(asked: ResourceRequest, { search }: URL) {
    const pods = asked.type.plural === 'pods';
    if (!pods) {
      const nodes = typeOf('nodes');
      const node = this.objects.get({
        type: nodes,
        namespace: undefined,
        name: asked.name.split(':')[0] ?? '',
      });
      return { node, path: `/${asked.rest}${search}` };
    }
    const pod = this.objects.get(asked);
    const path = nodePath(asked, pod);
    const nodeName = pod.spec.nodeName as string | undefined;
    if (nodeName === undefined) throw badRequest(`pod ${asked.name} does not have a host assigned`);
    const node = this.objects.find({ type: typeOf('nodes'), namespace: undefined, name: nodeName });
    if (node === undefined) throw notFound({ type: typeOf('nodes'), name: nodeName });
    return { node, path };
  }

  #upgrade(request: Request, socket: Duplex, head: Buffer): void {
    socket.on('error', () => undefined);
    try {
      const user: User = this.#authentication.userOf(
        request.socket as unknown as PeerSocket,
        request.headers,
      );
      const url = urlOf(request);
      const asked = resourceRequest(request.method === 'POST' ? 'POST' : 'GET', url);
      if (asked === undefined) throw noSuchPath();
      // To run a command counts as a creation, whatever the method is.
      const verb = STREAMS.has(asked.subresource) ? 'create' : asked.verb;
      this.authorization.check(user, { ...asked, verb });
      this.#proxy.upgrade(this.#nodePlace(asked, url), asked, { raw: request, socket, head });
    } catch (error) {
      const refusal = error instanceof StatusError ? error : internalError(String(error));
      socket.end(rawAnswer(refusal.code, JSON.stringify(refusal.body)));
    }
  }
}

/** A client that does not speak TLS gets the answer of a Go server. */
function takeConnection(socket: net.Socket, server: http2.Http2SecureServer): void {
  socket.on('error', () => undefined);
  socket.once('data', (first) => {
    if (first[0] !== TLS_HANDSHAKE) {
      socket.end('HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n');
      return;
    }
    socket.pause();
    socket.unshift(first);
    server.emit('connection', socket);
  });
}

function urlOf(request: Request): URL {
  try {
    return new URL(request.url ?? '/', 'https://localhost');
  } catch {
    throw badRequest('the path of the request is no path');
  }
}

async function bodyOf(request: Request): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Members that are null count as missing, but not in patches. */
async function parsedBody(body: Buffer, contentType: string): Promise<unknown> {
  if (body.length === 0) return undefined;
  if (contentType.includes('protobuf')) return protobufObject(body);
  try {
    const text = body.toString();
    if (contentType.includes('yaml')) return await parsedYaml(text);
    return contentType.includes('patch') ? (JSON.parse(text) as unknown) : withoutNulls(JSON.parse(text));
  } catch (error) {
    throw badRequest(`the object provided is unrecognized: ${(error as Error).message}`);
  }
}

/** Most clients send JSON: the parser of YAML is loaded when one does not. */
async function parsedYaml(text: string): Promise<unknown> {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    const { parse } = await import('yaml');
    return parse(text) as unknown;
  }
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]) => (member === null ? [] : [[key, withoutNulls(member)]])),
  );
}

function send(
  response: Response,
  code: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = `${JSON.stringify(body)}\n`;
  response.writeHead(code, {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
    ...headers,
  });
  response.end(text);
}

function warningHeader(warnings: readonly string[]): Readonly<Record<string, string>> {
  const warning = warnings.map((one) => `299 - ${JSON.stringify(one)}`).join(', ');
  return warning === '' ? {} : { warning };
}

function refusalHeaders({ code, details }: StatusError): Readonly<Record<string, string>> {
  const seconds = details?.retryAfterSeconds;
  return {
    ...(seconds !== undefined && { 'retry-after': String(seconds) }),
    ...(code === 401 && { 'www-authenticate': 'Bearer' }),
  };
}
