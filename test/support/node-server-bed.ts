/** A node's server on a free port, with a client that has certificates of its own authorities. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request, type RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { resolveServerSettings } from '../../src/agent/config/load-server-settings.ts';
import type { RequestAttributes } from '../../src/agent/policies/server/request-attributes.ts';
import { NodeServer, type NodeServerParts, type Reviews } from '../../src/agent/server/node/node-server.ts';
import { pairOfFiles } from '../../src/agent/server/node/tls-material.ts';
import type { Route } from '../../src/agent/server/routes/route.ts';
import { systemClock } from '../../src/system/timer.ts';
import { TestAuthority } from './certificate-authority.ts';
import { warnings } from './warnings.ts';
import type { Measurements } from '../../src/types/measurements.ts';
import { testContext } from './test-context.ts';

export const serverCA = new TestAuthority('server-ca');
export const clientCA = new TestAuthority('client-ca');
/** Of a client that every API server here lets in. */
export const ADMIN = clientCA.keyPair({ commonName: 'admin', organization: 'system:masters' });
export const SERVER_NAMES = { ipAddresses: ['127.0.0.1'] };

const says = (path: string, methods?: readonly string[]): Route => ({
  path,
  ...(methods && { methods }),
  handle: ({ params, raw }, response) =>
    void response.end(JSON.stringify({ route: path, params: { ...params }, headers: raw.rawHeaders })),
});
const ROUTES: readonly Route[] = [
  says('/healthz'),
  says('/pods', ['GET']),
  says('/metrics'),
  says('/runningpods/', ['GET']),
  says('/containerLogs/:namespace/:pod/:container', ['GET']),
  says('/exec/:namespace/:pod/:container', ['GET', 'POST']),
  says('/logs/*'),
  says('/configz'),
];

export interface Asked {
  readonly user: string;
  readonly groups: readonly string[];
  readonly verb: string;
  readonly subresource: string;
}

/** An API server that knows one token, and lets those in whom `allowed` names. */
export class TestReviews implements Reviews {
  readonly asked: Asked[] = [];
  readonly tokens: string[] = [];
  isDown = false;
  readonly #allowed: (asked: Asked) => boolean;

  constructor(allowed: (asked: Asked) => boolean = ({ groups }) => groups.includes('system:masters')) {
    this.#allowed = allowed;
  }

  token(token: string) {
    this.tokens.push(token);
    if (this.isDown) return Promise.reject(new Error('no answer'));
    return Promise.resolve(
      token === 'good' ? { name: 'robot', uid: '1', groups: ['system:masters'] } : undefined,
    );
  }

  access({ name: user, groups }: Parameters<Reviews['access']>[0], attributes: RequestAttributes) {
    if (this.isDown) return Promise.reject(new Error('no answer'));
    const { verb, subresource } = attributes;
    const asked = { user, groups, verb, subresource };
    this.asked.push(asked);
    return Promise.resolve(this.#allowed(asked));
  }
}

export interface ServerOptions extends Partial<Omit<NodeServerParts, 'settings'>> {
  /** Fields of KubeletConfiguration. */
  readonly file?: Readonly<Record<string, unknown>>;
}

export class NodeServerBed {
  readonly #dir = mkdtempSync(join(tmpdir(), 'statelet-node-server-'));
  readonly #closing: (() => unknown)[] = [];

  path(name: string): string {
    return join(this.#dir, name);
  }

  /** Returns the path. */
  write(name: string, content: string): string {
    writeFileSync(this.path(name), content);
    return this.path(name);
  }

  /** With the client CA in `client-ca.crt`. */
  authentication(more: object = {}) {
    return { authentication: { x509: { clientCAFile: this.path('client-ca.crt') }, ...more } };
  }

  async open({ file = {}, ...parts }: ServerOptions = {}, measurements?: Measurements) {
    const { cert, key } = serverCA.keyPair(SERVER_NAMES);
    this.write('tls.crt', cert);
    this.write('tls.key', key);
    this.write('client-ca.crt', clientCA.cert);
    const fields = { address: '127.0.0.1', ...this.authentication(), ...file };
    const { logger, messages } = warnings();
    const server = await NodeServer.open(testContext({ clock: systemClock, logger, measurements }), {
      nodeOf: () => 'node-a',
      settings: resolveServerSettings({ flags: {}, file: fields, fileName: 'kubelet.yaml' }),
      port: 0,
      routes: ROUTES,
      certificate: pairOfFiles(this.path('tls.crt'), this.path('tls.key')),
      ...parts,
    });
    this.#closing.push(() => server.close());
    const port = server.port ?? 0;
    return {
      server,
      port,
      messages,
      ask: (path: string, more: RequestOptions = {}) => ask(port, path, more),
      tls: (more: ConnectionOptions = {}) => this.#connect(port, more),
    };
  }

  async close(): Promise<void> {
    for (const close of this.#closing.splice(0).reverse()) await close();
    rmSync(this.#dir, { recursive: true });
  }

  async #connect(port: number, more: ConnectionOptions): Promise<TLSSocket> {
    const socket = connect({ host: '127.0.0.1', port, ca: serverCA.cert, ...more });
    this.#closing.push(() => socket.destroy());
    await once(socket, 'secureConnect');
    socket.on('error', () => undefined);
    return socket;
  }
}

async function ask(port: number, path: string, more: RequestOptions) {
  const agent = new Agent({ maxCachedSessions: 0 });
  const sent = request({ host: '127.0.0.1', port, path, ca: serverCA.cert, agent, ...more });
  const [response] = (await once(sent.end(), 'response')) as [IncomingMessage];
  const { statusCode: status, headers } = response;
  const body = await text(response);
  agent.destroy();
  return { status, headers, body };
}

export const withToken = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
