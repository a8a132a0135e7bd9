/** The ports of a node: the one of the kubelet (HTTPS, with authentication), and the read-only one for everyone. */
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { RequestAttributes } from '../../policies/server/request-attributes.ts';
import { tlsChoice } from '../../policies/server/tls-names.ts';
import type { ServerSettings, ServerUser } from '../../../types/node-settings.ts';
import { boundedServer, close, hostPort, listen, SERVER_LIMITS } from '../listen.ts';
import { RequestError, type Route } from '../routes/route.ts';
import { Access, ALWAYS_ALLOW, type Authorization, NEVER_ALLOW, WebhookAuthorization } from './access.ts';
import { Authentication } from './authentication.ts';
import { nodeService, type NodeServiceParts } from './node-service.ts';
import { SECURE_LIMITS, type SecureLimits, secureServer } from './secure-server.ts';
import { serveRoutes } from './serve-routes.ts';
import { type ServingPair, TLSMaterial } from './tls-material.ts';
import type { AgentContext } from '../../../types/agent-context.ts';

/** What the API server is asked. */
export interface Reviews {
  /** The user of the token; undefined: the token is not valid. */
  token(token: string): Promise<ServerUser | undefined>;
  access(user: ServerUser, attributes: RequestAttributes): Promise<boolean>;
}

export interface NodeServerParts {
  /** The node that a request is about. */
  readonly nodeOf: (request: IncomingMessage) => string;
  readonly settings: ServerSettings;
  /** Undefined: no HTTPS. 0: any free port. */
  readonly port: number | undefined;
  readonly routes: readonly Route[];
  readonly certificate: () => Promise<ServingPair | undefined>;
  /** Undefined outside a cluster. */
  readonly reviews?: Reviews;
  readonly limits?: SecureLimits;
}

export class NodeServer {
  /** The port that was bound; undefined where there is only the read-only one. */
  readonly port: number | undefined;
  readonly readOnlyPort: number | undefined;
  readonly #servers: readonly Server[];

  private constructor(ports: Pick<NodeServer, 'port' | 'readOnlyPort'>, servers: readonly Server[]) {
    this.port = ports.port;
    this.readOnlyPort = ports.readOnlyPort;
    this.#servers = servers;
  }

  /** Rejects with `FailedPrecondition` where a port cannot be bound, or certificate, key or client CA cannot be used. */
  static async open(context: AgentContext, parts: NodeServerParts): Promise<NodeServer> {
    const { settings, port } = parts;
    const servers: Server[] = [];
    try {
      const bound = port === undefined ? undefined : await openSecure(context, parts, port, servers);
      if (settings.readOnlyPort === 0)
        return new NodeServer({ port: bound, readOnlyPort: undefined }, servers);
      const readOnlyPort = await openReadOnly(context, parts, servers);
      const at = hostPort(settings.address, readOnlyPort);
      context.logger.warn(
        {},
        `Everyone who can reach ${at} may read pods, stats and metrics: readOnlyPort is set`,
      );
      return new NodeServer({ port: bound, readOnlyPort }, servers);
    } catch (error) {
      await Promise.all(servers.map(close));
      throw error;
    }
  }

  /** Answers a connection that has come at another port as those of its own. */
  accept(socket: Socket): void {
    this.#servers[0]?.emit('connection', socket);
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map(close));
  }
}

async function openSecure(
  context: AgentContext,
  parts: NodeServerParts,
  port: number,
  servers: Server[],
): Promise<number> {
  const { settings, routes, certificate, limits } = parts;
  const { clientCAFile, address } = settings;
  const material = new TLSMaterial({
    certificate,
    clientCAFile: clientCAFile === '' ? undefined : clientCAFile,
    choice: tlsChoice(settings),
  });
  const check = accessCheck(context, parts);
  const service = nodeService(context, { routes: enabledRoutes(routes, settings), check });
  const server = await secureServer(context, material, service, limits);
  const flags = { portFlag: '--port', hostFlag: '--address' };
  const bound = await listen(server, { host: address, port, what: "the node's own paths", ...flags });
  servers.push(server);
  return bound;
}

function accessCheck(context: AgentContext, parts: NodeServerParts): NodeServiceParts['check'] {
  const { nodeOf, settings, reviews } = parts;
  const { anonymousAuth, tokenWebhook, tokenCacheTTLMs } = settings;
  const authentication = new Authentication(context, {
    anonymous: anonymousAuth,
    ...(reviews && tokenWebhook && { reviewToken: (token: string) => reviews.token(token) }),
    tokenTTLMs: tokenCacheTTLMs,
  });
  const authorization = authorizationOf(context, parts);
  const access = new Access(context, { nodeOf, authentication, authorization });
  return (request, path) => access.check(request, path);
}

function authorizationOf(context: AgentContext, { settings, reviews }: NodeServerParts): Authorization {
  const { authorizationMode, authorizedTTLMs, unauthorizedTTLMs } = settings;
  if (authorizationMode === 'AlwaysAllow') return ALWAYS_ALLOW;
  if (reviews === undefined) return NEVER_ALLOW;
  const reviewAccess = (user: ServerUser, attributes: RequestAttributes) => reviews.access(user, attributes);
  return new WebhookAuthorization(context, { reviewAccess, authorizedTTLMs, unauthorizedTTLMs });
}

async function openReadOnly(
  context: AgentContext,
  { settings, routes }: NodeServerParts,
  servers: Server[],
): Promise<number> {
  const { address, readOnlyPort } = settings;
  const server = boundedServer({ ...SERVER_LIMITS, connectionsMax: 256, idleMs: SECURE_LIMITS.idleMs });
  const service = nodeService(context, { routes: readOnlyRoutes(routes), isReadOnly: true });
  serveRoutes(server, service);
  const flags = { portFlag: '--read-only-port', hostFlag: '--address' };
  const what = 'what everyone may read';
  const bound = await listen(server, { host: address, port: readOnlyPort, what, ...flags });
  servers.push(server);
  return bound;
}

export type RouteSwitches = Pick<
  ServerSettings,
  'enableDebuggingHandlers' | 'enableSystemLogHandler' | 'enableProfilingHandler' | 'enableDebugFlagsHandler'
>;

const DEBUGGING = ['run', 'exec', 'attach', 'portForward', 'containerLogs', 'runningpods', 'logs'].map(
  (name) => `/${name}/`,
);

const PROFILING = '/debug/pprof/';

const FLAGS = '/debug/flags/v';

const LOGS = '/logs/';

/** Without the debugging handlers these paths do not exist. */
const HIDDEN = ['/configz', '/checkpoint/', '/flagz', '/statusz', FLAGS];

/** As with the kubelet, most paths that the settings switch off answer 405, and some do not exist any more. */
function enabledRoutes(routes: readonly Route[], switches: RouteSwitches): readonly Route[] {
  if (!switches.enableDebuggingHandlers) {
    const closed = [...DEBUGGING, PROFILING];
    const open = routes.filter(({ path }) => !isBelow(path, [...closed, ...HIDDEN]));
    return [...open, ...closed.map((path) => disabled(path, 'Debug endpoints are disabled.'))];
  }
  const closed = [
    ...(switches.enableProfilingHandler ? [] : [[PROFILING, 'profiling endpoint is disabled.'] as const]),
    ...(switches.enableDebugFlagsHandler ? [] : [[FLAGS, 'flags endpoint is disabled.'] as const]),
    ...(switches.enableSystemLogHandler ? [] : [[LOGS, 'logs endpoint is disabled.'] as const]),
  ];
  const roots = closed.map(([root]) => root);
  const open = routes.filter(({ path }) => !isBelow(path, roots));
  return [...open, ...closed.map(([root, text]) => disabled(root, text))];
}

/** For everyone: what the kubelet serves on `readOnlyPort`. */
function readOnlyRoutes(routes: readonly Route[]): readonly Route[] {
  return enabledRoutes(routes, {
    enableDebuggingHandlers: false,
    enableSystemLogHandler: false,
    enableProfilingHandler: false,
    enableDebugFlagsHandler: false,
  });
}

function isBelow(path: string, roots: readonly string[]): boolean {
  return roots.some((root) => path === root || path.startsWith(root));
}

function disabled(root: string, text: string): Route {
  return {
    path: root.endsWith('/') ? `${root}*` : root,
    handle: () => {
      throw new RequestError(405, `${text}\n`, { 'X-Content-Type-Options': 'nosniff' });
    },
  };
}
