/** Servers on loopback for probes and hooks to talk to. `close` of each is called by `closeServers`. */
import { once } from 'node:events';
import { createServer as createHTTPServer, type RequestListener } from 'node:http';
import { createServer as createHTTP2Server, type ServerHttp2Stream } from 'node:http2';
import { createServer as createHTTPSServer } from 'node:https';
import { type AddressInfo, createServer as createTCPServer, type Server, type Socket } from 'node:net';
import { type KeyPair, TestAuthority } from '../../../support/certificate-authority.ts';

let ofStranger: KeyPair | undefined;
/** Of an authority that no client knows. All servers have the same. */
const certified = () => (ofStranger ??= new TestAuthority().keyPair({ commonName: 'nobody.invalid' }));

const servers = new Set<Server>();
const sockets = new Set<Socket>();

export async function closeServers(): Promise<void> {
  for (const socket of sockets) socket.destroy();
  await Promise.all(Array.from(servers, (server) => new Promise((resolve) => server.close(resolve))));
  servers.clear();
}

async function listening(server: Server, host = '127.0.0.1', port = 0): Promise<number> {
  servers.add(server);
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  });
  server.listen(port, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Each resolves to the port. */
export const httpServer = (listener: RequestListener, host?: string) =>
  listening(createHTTPServer(listener), host);
export const httpsServer = (listener: RequestListener) => listening(createHTTPSServer(certified(), listener));
export const http2Server = (onStream: (stream: ServerHttp2Stream) => void) =>
  listening(createHTTP2Server().on('stream', onStream));
/** At a port that is free, unless it is said at which. */
export const tcpServer = (onConnection: (socket: Socket) => void = () => undefined, port = 0) =>
  listening(createTCPServer(onConnection), undefined, port);

/** A port on which no server listens. */
export async function closedPort(): Promise<number> {
  const server = createTCPServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
