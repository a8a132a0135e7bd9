/**
 * A proxy between an agent and its runtime that passes calls on unchanged and records requests and answers. It works on HTTP/2
 * streams and knows no methods: an agent may use calls that Statelet does not know.
 */
import { rmSync } from 'node:fs';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { createConnection } from 'node:net';

/** A recorded call; `path` is `/runtime.v1.RuntimeService/Version`, for example. */
export interface RecordedCall {
  readonly path: string;
  /** Milliseconds since the proxy was started. */
  readonly atMs: number;
  /** Undefined while it is under way. */
  endMs?: number;
  /** Without gRPC's prefix. */
  readonly request: Buffer;
  /** The last message, if the answer is a stream. */
  response: Buffer;
  /** gRPC's status code: 0 is OK. */
  code?: number;
  message?: string;
}

/** Each gRPC message begins with a compression flag and its length. */
const PREFIX_BYTES = 5;
/** As large as the largest answer of CRI, so that flow control does not slow calls down. */
const WINDOW_BYTES = 16 * 1024 * 1024;

export class RecordingProxy {
  readonly endpoint: string;
  /** In the order in which they came. */
  readonly calls: RecordedCall[] = [];
  readonly #socket: string;
  readonly #target: string;
  readonly #server: Http2Server;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #startedMs = performance.now();
  /** If false, only the calls are recorded, without their messages. */
  readonly #keepsMessages: boolean;

  /** `socket`: the path on which the proxy listens; `target`: the runtime's endpoint. */
  constructor(socket: string, target: string, { keepsMessages = true } = {}) {
    this.#socket = socket;
    this.endpoint = `unix://${socket}`;
    this.#target = target.slice('unix://'.length);
    this.#keepsMessages = keepsMessages;
    const settings = { initialWindowSize: WINDOW_BYTES };
    this.#server = createServer({ settings }).on('session', (session) => this.#serve(session));
  }

  async start(): Promise<this> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    this.#server.once('error', reject).listen(this.#socket, () => resolve(undefined));
    await promise;
    return this;
  }

  stop(): void {
    for (const session of this.#sessions) session.destroy();
    this.#server.close();
    rmSync(this.#socket, { force: true });
  }

  /** Milliseconds since the start. */
  now(): number {
    return performance.now() - this.#startedMs;
  }

  /** Each connection of the agent has its own connection to the runtime. If one breaks, the other is closed. */
  #serve(session: ServerHttp2Session): void {
    this.#sessions.add(session);
    const settings = { initialWindowSize: WINDOW_BYTES };
    const up = connect('http://localhost', {
      settings,
      createConnection: () => createConnection(this.#target),
    });
    const close = () => {
      this.#sessions.delete(session);
      session.destroy();
      up.destroy();
    };
    up.on('error', close).on('close', close);
    session.on('error', close).on('close', close);
    session.on('stream', (down, headers) => this.#pass(down, headers, up));
  }

  #pass(down: ServerHttp2Stream, headers: IncomingHttpHeaders, up: ClientHttp2Session): void {
    const call: RecordedCall = {
      path: headers[':path'] ?? '',
      atMs: this.now(),
      response: Buffer.alloc(0),
      request: Buffer.alloc(0),
    };
    this.calls.push(call);
    const passed = up.request(headers, { endStream: false });
    collect(down, this.#keepsMessages, (message) => Object.assign(call, { request: message }));
    collect(passed, this.#keepsMessages, (message) => (call.response = message));
    down.pipe(passed);
    this.#answer(down, passed, call);
    down.on('error', () => passed.close(constants.NGHTTP2_CANCEL));
    down.on('aborted', () => passed.close(constants.NGHTTP2_CANCEL));
    passed.on('error', () => down.close(constants.NGHTTP2_INTERNAL_ERROR));
  }

  #answer(down: ServerHttp2Stream, passed: ClientHttp2Stream, call: RecordedCall): void {
    let trailers: IncomingHttpHeaders = {};
    const conclude = (headers: IncomingHttpHeaders) => {
      if (headers['grpc-status'] === undefined) return;
      call.code = Number(headers['grpc-status']);
      call.message = decodeURIComponent(String(headers['grpc-message'] ?? ''));
      call.endMs = this.now();
    };
    passed.on('trailers', (received: IncomingHttpHeaders) => {
      trailers = received;
      conclude(received);
    });
    passed.on('response', (received, flags) => {
      if (down.destroyed) return;
      conclude(received);
      const isAll = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
      down.respond(received, isAll ? { endStream: true } : { waitForTrailers: true });
      if (isAll) return;
      down.on('wantTrailers', () => down.sendTrailers(trailers));
      passed.pipe(down);
    });
  }
}

/** Calls `tell` with each message of a stream, also if a message comes in several parts. */
function collect(
  stream: ServerHttp2Stream | ClientHttp2Stream,
  keeps: boolean,
  tell: (message: Buffer) => void,
): void {
  if (!keeps) return;
  let rest = Buffer.alloc(0);
  stream.on('data', (piece: Buffer) => {
    rest = Buffer.concat([rest, piece]);
    while (rest.length >= PREFIX_BYTES) {
      const end = PREFIX_BYTES + rest.readUInt32BE(1);
      if (rest.length < end) return;
      tell(rest.subarray(PREFIX_BYTES, end));
      rest = rest.subarray(end);
    }
  });
}
