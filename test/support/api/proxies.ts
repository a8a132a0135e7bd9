/** Proxies on loopback: CONNECT of HTTP, and SOCKS 5. */
import { once } from 'node:events';
import http from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export interface TestProxy {
  /** Without the protocol. */
  readonly host: string;
  /** `HOST:PORT` of each requested connection, with the credentials of the client. */
  readonly targets: readonly string[];
  readonly close: () => Promise<void>;
}

/** `answer`: instead of letting the client through, a status line such as `403 Forbidden`. */
export async function connectProxy({ answer }: { answer?: string } = {}): Promise<TestProxy> {
  const targets: string[] = [];
  const sockets = new Set<Socket>();
  const server = http.createServer();
  server.on('connect', (request, client: Socket) => {
    sockets.add(client);
    targets.push([request.url, request.headers['proxy-authorization']].filter(Boolean).join(' '));
    if (answer !== undefined) {
      client.end(`HTTP/1.1 ${answer}\r\n\r\n`);
      return;
    }
    const upstream = join(client, request.url ?? '', sockets);
    upstream.once('connect', () => client.write('HTTP/1.1 200 Connection established\r\n\r\n'));
  });
  return listening(server, targets, sockets);
}

/** Without a password. It resolves names itself. */
export async function socksProxy(): Promise<TestProxy> {
  const targets: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    sockets.add(client);
    client.once('data', () => {
      client.once('data', (request) => {
        const target = socksTarget(request);
        targets.push(target);
        const upstream = join(client, target, sockets);
        upstream.once('connect', () => client.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])));
      });
      client.write(Buffer.from([5, 0]));
    });
  });
  return listening(server, targets, sockets);
}

/** Version, command, reserved, kind of address, address, port. */
function socksTarget(request: Buffer): string {
  const isName = request[3] === 3;
  const end = isName ? 5 + (request[4] ?? 0) : 8;
  const host = isName ? request.subarray(5, end).toString() : request.subarray(4, end).join('.');
  return `${host}:${request.readUInt16BE(end)}`;
}

function join(client: Socket, target: string, sockets: Set<Socket>): Socket {
  const upstream = connect(Number(target.split(':').at(-1)), '127.0.0.1');
  sockets.add(upstream);
  for (const [one, other] of [
    [client, upstream],
    [upstream, client],
  ] as const)
    one.on('error', () => other.destroy());
  upstream.once('connect', () => upstream.pipe(client).pipe(upstream));
  return upstream;
}

async function listening(server: Server, targets: string[], sockets: Set<Socket>): Promise<TestProxy> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    host: `127.0.0.1:${port}`,
    targets,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
