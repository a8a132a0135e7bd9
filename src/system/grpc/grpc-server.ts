/** Answers the methods of a gRPC service over HTTP/2 without TLS, each of which is asked once and answers once. */
import { createServer, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { errorKind, errorMessage } from '../../types/errors.ts';
import { codeOfKind } from './grpc-codes.ts';
import { PREFIX_BYTES, prefixOf } from './grpc-frames.ts';
import type { Method } from './method.ts';

export interface ServedMethod {
  readonly path: string;
  answer(request: Buffer): Promise<Buffer>;
}

/** An error that it throws is sent with its kind as gRPC's code. */
export function servedMethod<Q, A>(
  { path, request, response }: Method<Q, A>,
  answer: (request: Q) => Promise<A>,
): ServedMethod {
  return {
    path,
    answer: async (bytes) => response.encode(await answer(request.decode(bytes))),
  };
}

export interface GrpcServer {
  /** Serves a connection that was accepted. */
  serve(socket: Socket): void;
  /** Ends all connections. */
  close(): void;
}

const REQUEST_BYTES_MAX = 64 * 1024;
const STREAMS_MAX = 16;
/** A connection without requests is ended. */
const IDLE_MS = 5 * 60_000;

export function grpcServer(methods: readonly ServedMethod[]): GrpcServer {
  const byPath = new Map(methods.map((method) => [method.path, method]));
  const sockets = new Set<Socket>();
  const server = createServer({ settings: { maxConcurrentStreams: STREAMS_MAX } });
  server.setTimeout(IDLE_MS);
  server.on('stream', (stream, headers) => {
    // A client that goes away has no use for an answer.
    stream.on('error', () => undefined);
    void answerStream(stream, byPath.get(String(headers[':path'])));
  });
  server.on('sessionError', () => undefined);
  return {
    serve: (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      socket.on('error', () => undefined);
      server.emit('connection', socket);
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

async function answerStream(stream: ServerHttp2Stream, method: ServedMethod | undefined): Promise<void> {
  if (method === undefined) {
    end(stream, codeOfKind('Unimplemented'), 'there is no such method');
    return;
  }
  try {
    const answer = await method.answer(await readMessage(stream));
    respond(stream);
    if (stream.destroyed) return;
    stream.write(prefixOf([answer]));
    stream.write(answer);
    finish(stream, 0, '');
  } catch (error) {
    end(stream, codeOfKind(errorKind(error)), errorMessage(error));
  }
}

async function readMessage(stream: ServerHttp2Stream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > REQUEST_BYTES_MAX + PREFIX_BYTES)
      throw new Error(`the request is longer than ${REQUEST_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks, length);
  if (length < PREFIX_BYTES || body[0] !== 0 || body.readUInt32BE(1) !== length - PREFIX_BYTES)
    throw new Error('the request is something else than one message that is not compressed');
  return body.subarray(PREFIX_BYTES);
}

/** Its trailers are given when the answer has been written. */
const TRAILERS = new WeakMap<ServerHttp2Stream, Record<string, string>>();

function respond(stream: ServerHttp2Stream): void {
  if (stream.destroyed || stream.headersSent) return;
  stream.once('wantTrailers', () => stream.sendTrailers(TRAILERS.get(stream) ?? {}));
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
}

function finish(stream: ServerHttp2Stream, code: number, details: string): void {
  TRAILERS.set(stream, {
    'grpc-status': String(code),
    ...(details !== '' && { 'grpc-message': encodeURIComponent(details) }),
  });
  stream.end();
}

function end(stream: ServerHttp2Stream, code: number, details: string): void {
  if (stream.destroyed) return;
  respond(stream);
  finish(stream, code, details);
  // What is still to come of the request is not kept. Closed at once, the stream would end without the code.
  stream.resume();
}
