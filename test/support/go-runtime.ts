/** The streaming server of a container runtime, which behaves like Kubernetes' Go library: it closes the connection right after its last message. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { SpdyConnection } from '../../src/agent/server/streaming/spdy/spdy-connection.ts';
import { goAwayFrame } from '../../src/agent/server/streaming/spdy/spdy-frames.ts';
import type { SpdyStream } from '../../src/agent/server/streaming/spdy/spdy-stream.ts';

/** By their type. For port-forward: `data` and `error`. */
export type OpenedStreams = ReadonlyMap<string, SpdyStream>;

export class GoRuntime {
  readonly url: URL;
  readonly #server: Server;
  readonly #sockets: readonly Duplex[];

  private constructor(server: Server, sockets: readonly Duplex[]) {
    this.#server = server;
    this.#sockets = sockets;
    this.url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/token`);
  }

  /** `serve` is called when so many streams are open. When it has resolved, the connection is closed. */
  static async open(streams: number, serve: (opened: OpenedStreams) => Promise<void>): Promise<GoRuntime> {
    const sockets: Duplex[] = [];
    const server = createServer().on('upgrade', (request: IncomingMessage, socket: Duplex) => {
      sockets.push(socket);
      const protocol = request.headers['x-stream-protocol-version'];
      socket.on('error', () => undefined);
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n' +
          `X-Stream-Protocol-Version: ${String(protocol)}\r\n\r\n`,
      );
      const opened = new Map<string, SpdyStream>();
      const onStream = (stream: SpdyStream): void => {
        opened.set(stream.headers.get('streamtype') ?? '', stream.resume());
        if (opened.size === streams) void serve(opened).then(() => leave(socket, opened));
      };
      new SpdyConnection(socket, { side: 'server', onStream });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return new GoRuntime(server, sockets);
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

/** Bytes in the system's queues are still delivered, unless the peer sends something to the closed connection. */
function leave(socket: Duplex, opened: OpenedStreams): void {
  for (const stream of opened.values()) stream.destroy();
  socket.end(goAwayFrame(1), () => socket.destroy());
}

export async function writeAll(stream: SpdyStream | undefined, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; at += 32_768) {
    if (stream?.write(bytes.subarray(at, at + 32_768)) === false) await once(stream, 'drain');
  }
  await new Promise((resolve) => stream?.write('', resolve));
}
