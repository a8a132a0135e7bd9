/** A server of HTTP on loopback, whose answers a test writes. */
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CertificateAuthority, type CertificateFiles } from '../control-plane/certificates.ts';

/** `h2`: HTTP/2 for clients that want it, else HTTP/1.1. */
export type BedProtocol = 'h2' | 'https' | 'http';

/** Over HTTP/2 these are other classes, which are used in the same way. */
export type BedRequest = http.IncomingMessage;
export type BedAnswer = http.ServerResponse;
type Http2Listener = (request: http2.Http2ServerRequest, answer: http2.Http2ServerResponse) => void;
export type Handler = (request: BedRequest, answer: BedAnswer) => void;

export interface HttpBedOptions {
  readonly protocol: BedProtocol;
  /** Of the server itself. Not for `http`. */
  readonly files?: CertificateFiles;
}

export class HttpBed {
  handle: Handler;
  readonly protocol: BedProtocol;
  /** The number of connections so far. */
  connections = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor({ protocol, files }: HttpBedOptions, handle: Handler) {
    this.protocol = protocol;
    this.handle = handle;
    const listener: Handler = (request, answer) => this.handle(request, answer);
    const tls = files && { cert: readFileSync(files.cert), key: readFileSync(files.key) };
    const wantsCertificate = { ...tls, requestCert: true, rejectUnauthorized: false };
    this.#server =
      protocol === 'http'
        ? http.createServer(listener)
        : protocol === 'https'
          ? https.createServer(wantsCertificate, listener)
          : http2.createSecureServer(
              { ...wantsCertificate, allowHTTP1: true },
              listener as unknown as Http2Listener,
            );
    this.#server.on('connection', (socket: Socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
    });
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `${this.protocol === 'http' ? 'http' : 'https'}://127.0.0.1:${port}`;
  }

  async open(port = 0): Promise<this> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  /** Breaks all connections. New ones are accepted. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** An authority and a certificate for a server on loopback, in a temporary folder. */
export function loopbackCertificates() {
  const dir = mkdtempSync(join(tmpdir(), 'statelet-certificates-'));
  const authority = new CertificateAuthority(dir).create();
  const alternativeNames = 'IP:127.0.0.1,DNS:localhost';
  const files = authority.issue({
    name: 'server',
    commonName: 'server',
    usage: 'server auth',
    alternativeNames,
  });
  return {
    authority,
    files,
    ca: readFileSync(authority.files.cert, 'utf8'),
    remove: () => rmSync(dir, { recursive: true }),
  };
}

/** Breaks the connection of HTTP/1.1, or the stream of HTTP/2. */
export function breakOff(answer: BedAnswer): void {
  if (answer instanceof http2.Http2ServerResponse)
    answer.stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
  else answer.socket?.destroy();
}

export async function bodyOf(request: BedRequest): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
