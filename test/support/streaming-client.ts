/** Clients of exec, attach and port-forward, like kubectl. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { request as requestTls } from 'node:https';
import { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { WebSocket } from 'ws';
import { SpdyConnection } from '../../src/agent/server/streaming/spdy/spdy-connection.ts';
import type { SpdyStream } from '../../src/agent/server/streaming/spdy/spdy-stream.ts';

export interface Refused {
  readonly status: number;
  readonly body: string;
  readonly headers: IncomingMessage['headers'];
}

export interface Upgraded {
  readonly socket: Duplex;
  readonly protocol: string;
}

/** Of a server at a unix socket. */
export interface OwnPath {
  readonly socketPath: string;
  readonly path: string;
}

/** Asks for an upgrade; `protocols` are those of `X-Stream-Protocol-Version`. */
export async function upgrade(
  url: string | OwnPath,
  protocols: readonly string[],
  headers: Readonly<Record<string, string>> = {},
): Promise<Upgraded | Refused> {
  const options = {
    method: 'POST',
    agent: false,
    headers: {
      Connection: 'Upgrade',
      Upgrade: 'SPDY/3.1',
      ...(protocols.length > 0 && { 'X-Stream-Protocol-Version': [...protocols] }),
      ...headers,
    },
  };
  const asked = typeof url === 'string' ? request(url, options) : request({ ...options, ...url });
  asked.end();
  return new Promise((resolve, reject) => {
    asked.on('error', reject);
    asked.on('upgrade', (response, socket, head) => {
      socket.on('error', () => undefined);
      if (head.length > 0) socket.unshift(head);
      resolve({ socket, protocol: String(response.headers['x-stream-protocol-version']) });
    });
    asked.on('response', (response) => {
      const { statusCode = 0, headers: answered } = response;
      text(response).then((body) => resolve({ status: statusCode, body, headers: answered }), reject);
    });
  });
}

export class SpdyClient {
  readonly connection: SpdyConnection;
  readonly protocol: string;
  readonly socket: Duplex;

  constructor({ socket, protocol }: Upgraded) {
    this.socket = socket;
    this.protocol = protocol;
    this.connection = new SpdyConnection(socket, { side: 'client' });
  }

  open(streamtype: string, more: Readonly<Record<string, string>> = {}): SpdyStream {
    return this.connection.open(new Map(Object.entries({ streamtype, ...more })));
  }

  close(): void {
    this.connection.destroy();
  }
}

/** Throws where the server refuses. */
export async function spdyClient(
  url: string | OwnPath,
  ...protocols: readonly string[]
): Promise<SpdyClient> {
  const answer = await upgrade(url, protocols.length > 0 ? protocols : ['v4.channel.k8s.io']);
  if ('status' in answer) throw new Error(`refused: ${answer.status} ${answer.body}`);
  return new SpdyClient(answer);
}

/** Of a server that wants to know its clients. */
export interface ClientTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** A WebSocket, with all messages that have come. */
export class WebSocketClient {
  readonly socket: WebSocket;
  readonly #messages: { readonly data: Buffer; readonly isBinary: boolean }[] = [];
  #changed = Promise.withResolvers<undefined>();

  constructor(url: string, protocols: readonly string[], tls: ClientTls = {}) {
    this.socket = new WebSocket(url.replace(/^http/u, 'ws'), [...protocols], tls);
    this.socket.on('message', (data: Buffer, isBinary) => {
      this.#messages.push({ data, isBinary });
      this.#tell();
    });
    this.socket.on('close', () => this.#tell());
    this.socket.on('error', () => undefined);
  }

  async opened(): Promise<this> {
    await once(this.socket, 'open');
    return this;
  }

  get messages(): readonly { readonly data: Buffer; readonly isBinary: boolean }[] {
    return this.#messages;
  }

  /** The bytes that have come for a channel. */
  received(channel: number): string {
    return this.receivedBytes(channel).toString();
  }

  receivedBytes(channel: number): Buffer {
    const ofChannel = this.#messages.filter(({ data }) => data[0] === channel);
    return Buffer.concat(ofChannel.map(({ data }) => data.subarray(1)));
  }

  /** Resolves when enough has come, or the server has closed the connection. */
  async until(enough: () => boolean): Promise<void> {
    while (!enough() && this.socket.readyState < WebSocket.CLOSING) await this.#changed.promise;
  }

  async closed(): Promise<void> {
    if (this.socket.readyState !== WebSocket.CLOSED) await once(this.socket, 'close');
  }

  send(channel: number, data: string | Buffer): void {
    this.socket.send(Buffer.concat([Buffer.from([channel]), Buffer.from(data)]));
  }

  #tell(): void {
    this.#changed.resolve(undefined);
    this.#changed = Promise.withResolvers<undefined>();
  }
}

/** SPDY in the binary messages of a WebSocket. Written out, as the client of ws takes no protocol with a slash in its name. */
export async function tunnelClient(
  url: string,
  protocol = 'SPDY/3.1+portforward.k8s.io',
  tls?: ClientTls,
): Promise<Upgraded> {
  const asked = (tls === undefined ? request : requestTls)(url, {
    agent: false,
    ...tls,
    headers: {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
      ...(protocol !== '' && { 'Sec-WebSocket-Protocol': protocol }),
    },
  });
  asked.end();
  const [response, socket, head] = (await once(asked, 'upgrade')) as [IncomingMessage, Duplex, Buffer];
  if (head.length > 0) socket.unshift(head);
  return { socket: new Messages(socket), protocol: String(response.headers['sec-websocket-protocol']) };
}

/** The bytes in the messages. */
class Messages extends Duplex {
  readonly #socket: Duplex;
  #pending = Buffer.alloc(0);

  constructor(socket: Duplex) {
    super();
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#take(chunk)).on('close', () => this.destroy());
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    // A binary message with 64 bits of length; a mask of zeros changes nothing.
    const head = Buffer.alloc(14);
    head.writeUInt16BE(0x82_ff);
    head.writeBigUInt64BE(BigInt(chunk.length), 2);
    this.#socket.write(Buffer.concat([head, chunk]), done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  #take(chunk: Buffer): void {
    this.#pending = Buffer.concat([this.#pending, chunk]);
    for (let message = this.#next(); message; message = this.#next()) this.push(message);
  }

  /** The server's messages have no mask. */
  #next(): Buffer | undefined {
    if (this.#pending.length < 10) return undefined;
    const short = this.#pending.readUInt8(1);
    const headBytes = short === 127 ? 10 : short === 126 ? 4 : 2;
    const long = short === 126 ? this.#pending.readUInt16BE(2) : Number(this.#pending.readBigUInt64BE(2));
    const end = headBytes + (short < 126 ? short : long);
    if (this.#pending.length < end) return undefined;
    const message = this.#pending.subarray(headBytes, end);
    this.#pending = this.#pending.subarray(end);
    return message;
  }
}
