/** Servers on loopback for probes and hooks to talk to. `close` of each is called by `closeServers`. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHTTPServer, type RequestListener } from 'node:http';
import { createServer as createHTTP2Server, type ServerHttp2Stream } from 'node:http2';
import { createServer as createHTTPSServer } from 'node:https';
import { type AddressInfo, createServer as createTCPServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** To be installed: Node cannot make certificates. */
const OPENSSL = 'openssl';

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
export const httpsServer = (listener: RequestListener) =>
  listening(createHTTPSServer(selfSigned(), listener));
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

let certificate: { key: Buffer; cert: Buffer } | undefined;

function selfSigned(): { key: Buffer; cert: Buffer } {
  certificate ??= generateCertificate();
  return certificate;
}

function generateCertificate(): { key: Buffer; cert: Buffer } {
  const folder = mkdtempSync(join(tmpdir(), 'statelet-cert-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
  const files = ['-keyout', key, '-out', cert, '-subj', '/CN=nobody.invalid'];
  execFileSync(OPENSSL, ['req', '-x509', ...kind, ...files], { stdio: 'ignore' });
  const read = { key: readFileSync(key), cert: readFileSync(cert) };
  rmSync(folder, { recursive: true });
  return read;
}
