/**
 * Sends the state of every actor of the daemon to Stately's inspector. Loaded only for `--inspect`. Nothing is serialised
 * without a client; a new client gets the present state of all actors, then every event.
 */
import type { IncomingMessage } from 'node:http';
import { createInspector, type StatelyInspectionEvent } from '@statelyai/inspect';
import { type WebSocket, WebSocketServer } from 'ws';
import type { InspectionEvent, Observer } from 'xstate';
import type { Logger } from '../../types/logger.ts';
import { boundedServer, close, hostPort, listen, SERVER_LIMITS, takenOver } from './listen.ts';
import { FOREIGN, isForeign, isLoopback } from './foreign-request.ts';
import { redact } from './redact.ts';

export interface InspectorOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly logger: Logger;
  /** Full names of pods: only their actors are shown, with those of their probes and preemptions. Without it all are. */
  readonly only?: readonly string[] | undefined;
}

export interface RunningInspector {
  /** To be opened in a browser. WebSocket clients connect to the same URL. */
  readonly url: string;
  /** For the `inspect` option of the root actor. */
  readonly inspect: Observer<InspectionEvent>;
  close(): Promise<void>;
}

type ActorEvent = InspectionEvent & { readonly type: '@xstate.actor' };
type Client = Observer<InspectionEvent>;

/** A browser that is this far behind is disconnected, so that its backlog does not fill the memory. */
const MAX_BACKLOG_BYTES = 16 * 1024 * 1024;
const FLAGS = { portFlag: '--inspect=HOST:PORT', hostFlag: '--inspect=HOST:PORT' };

/** Rejects with `FailedPrecondition` when the port cannot be bound. */
export async function startInspector({
  host,
  port,
  logger,
  only,
}: InspectorOptions): Promise<RunningInspector> {
  const actors = new Map<string, ActorEvent>();
  const clients = new Set<Client>();
  const server = boundedServer({ ...SERVER_LIMITS, endsStreams: true }, ({ headers }, response) => {
    if (isForeign(headers, [host])) response.writeHead(FOREIGN.status).end(FOREIGN.message);
    else response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end(INSPECTOR_PAGE);
  });
  const sockets = new WebSocketServer({
    server,
    maxPayload: 1024,
    verifyClient: ({ req }: { req: IncomingMessage }) => !isForeign(req.headers, [host]),
  });
  sockets.on('error', () => undefined); // Errors of the server, which listen() below handles.
  sockets.on('connection', (socket, request) => {
    takenOver(request.socket);
    admit(socket, actors, clients, logger);
  });
  const bound = await listen(server, { host, port, what: "Stately's inspector", ...FLAGS });
  if (!isLoopback(host)) {
    const open = `anyone who can reach ${hostPort(host, bound)} sees every actor and its pods, without a password`;
    logger.warn(
      {},
      `${open}; values of environment variables and secrets are left out. 127.0.0.1 limits it to this machine`,
    );
  }
  return {
    url: `http://${hostPort(host, bound)}`,
    inspect: {
      next: (event) => {
        if (only === undefined || isOf(only, event.actorRef)) tell(event, actors, clients);
      },
    },
    close: () => {
      for (const socket of sockets.clients) socket.terminate();
      sockets.close();
      return close(server);
    },
  };
}

/** The ids of all actors of a pod have its full name as a word. */
function isOf(fullNames: readonly string[], actor: object): boolean {
  const id = 'id' in actor && typeof actor.id === 'string' ? actor.id : '';
  return id.split(' ').some((word) => fullNames.includes(word));
}

/** Keeps the list of actors that run, and passes the event on to the clients. */
function tell(event: InspectionEvent, actors: Map<string, ActorEvent>, clients: ReadonlySet<Client>): void {
  if (event.type === '@xstate.actor') actors.set(event.actorRef.sessionId, event);
  for (const client of clients) client.next?.(event);
  const ended =
    event.type === '@xstate.snapshot' && (event.snapshot as { status?: string }).status !== 'active';
  if (ended) actors.delete(event.actorRef.sessionId);
}

function admit(
  socket: WebSocket,
  actors: ReadonlyMap<string, ActorEvent>,
  clients: Set<Client>,
  logger: Logger,
): void {
  const inspector = createInspector(
    { send: (event) => send(socket, event, logger) },
    { serialize: (event) => redact(event) as StatelyInspectionEvent },
  );
  clients.add(inspector.inspect);
  socket.on('close', () => clients.delete(inspector.inspect));
  socket.on('error', (err) => logger.debug({ err }, 'inspector: connection failed'));
  logger.debug({}, 'inspector: connected');
  for (const actor of actors.values()) inspector.inspect.next?.(actor);
}

function send(socket: WebSocket, event: StatelyInspectionEvent, logger: Logger): void {
  if (socket.readyState !== socket.OPEN) return;
  if (socket.bufferedAmount <= MAX_BACKLOG_BYTES) {
    socket.send(JSON.stringify(event));
    return;
  }
  logger.warn({}, 'inspector: the browser does not keep up and is cut off; reload its page to go on');
  socket.terminate();
}

/**
 * The page with Stately's inspector in a frame. The browser gets the events from the daemon through a WebSocket and posts them
 * to the frame. The socket is opened when the inspector says that it is ready, and again after each reload of it. Until then the page
 * says what it waits for: without that web site the frame stays empty.
 */
export const INSPECTOR_PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Statelet inspector</title>
    <style>
      html, body { height: 100%; margin: 0 }
      body { display: flex; flex-direction: column; font: 16px/1.5 system-ui, sans-serif }
      p { margin: 0; padding: 1em; background: #fff4c2; color: #222 }
      iframe { flex: 1; border: 0 }
    </style>
  </head>
  <body>
    <p id="waiting" role="status">
      Waiting for Stately's inspector, which is a web site: this browser has to reach <a href="https://stately.ai/inspect">https://stately.ai</a>.
      Statelet's own page shows the same charts and needs no other site: <code>statelet run --ui</code>, and <code>statelet ui</code> opens it.
    </p>
    <iframe id="inspector" src="https://stately.ai/inspect" title="Stately inspector"></iframe>
    <script>
      const frame = document.getElementById('inspector');
      let socket;
      addEventListener('message', ({ source, origin, data }) => {
        const fromInspector = source === frame.contentWindow && /^https:\\/\\/([a-z0-9-]+\\.)*stately\\.ai$/.test(origin);
        if (!fromInspector || !data || data.type !== '@statelyai.connected') return;
        document.getElementById('waiting').hidden = true;
        if (socket) socket.close();
        socket = new WebSocket('ws://' + location.host);
        socket.onmessage = (message) => frame.contentWindow.postMessage(JSON.parse(message.data), origin);
      });
    </script>
  </body>
</html>
`;
