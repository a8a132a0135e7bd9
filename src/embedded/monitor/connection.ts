import type { Socket } from 'node:net';
import type { ContainerEvent } from '../../types/cri.ts';
import { StateletError } from '../../types/errors.ts';
import {
  encode,
  encodeRequest,
  fromWireError,
  type Hello,
  LineSplitter,
  type MethodName,
  type MonitorMessage,
  type Params,
  PROTOCOL_VERSION,
  type Result,
} from './protocol.ts';

export const HELLO_TIMEOUT_MS = 5000;

interface Call {
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

/** The client's end of one connection to a monitor. */
export class Connection {
  /** Resolves with the monitor's first message; rejects if none comes, or it is of another version. */
  readonly hello: Promise<Hello>;
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #calls = new Map<number, Call>();
  readonly #onEvent: (event: ContainerEvent) => void;
  #onHello: (hello: Hello) => void = () => undefined;
  #lastId = 0;

  constructor(socket: Socket, onEvent: (event: ContainerEvent) => void) {
    this.#socket = socket;
    this.#onEvent = onEvent;
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#failCalls();
        resolve();
      });
    });
    this.hello = this.#expectHello();
    const lines = new LineSplitter();
    // An error is followed by close.
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const line of lines.push(chunk)) this.#receive(JSON.parse(line) as MonitorMessage);
      } catch {
        // Not the protocol: nothing that follows can be understood.
        socket.destroy();
      }
    });
  }

  async call<M extends MethodName>(method: M, params: Params<M>, signal?: AbortSignal): Promise<Result<M>> {
    const id = ++this.#lastId;
    const request = encodeRequest({ id, method, params });
    const onAbort = (): void => {
      this.#socket.write(encode({ cancel: id }));
      this.#calls.get(id)?.reject(canceled(method));
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    return new Promise<Result<M>>((resolve, reject) => {
      this.#calls.set(id, { resolve, reject });
      if (signal?.aborted) reject(canceled(method));
      else if (this.#socket.writable) this.#socket.write(request);
      else reject(gone());
    }).finally(() => {
      this.#calls.delete(id);
      signal?.removeEventListener('abort', onAbort);
    });
  }

  close(): Promise<void> {
    this.#socket.destroy();
    return this.closed;
  }

  #expectHello(): Promise<Hello> {
    return new Promise<Hello>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#socket.destroy();
        reject(new StateletError('DeadlineExceeded', `it has not answered within ${HELLO_TIMEOUT_MS} ms`));
      }, HELLO_TIMEOUT_MS);
      this.#socket.once('close', () => {
        clearTimeout(timer);
        reject(gone());
      });
      this.#onHello = (hello) => {
        clearTimeout(timer);
        if (hello.protocol === PROTOCOL_VERSION) resolve(hello);
        else reject(foreignProtocol(hello));
      };
    });
  }

  #receive(message: MonitorMessage): void {
    if ('hello' in message) this.#onHello(message);
    else if ('event' in message) this.#onEvent(message.event);
    else if ('error' in message) this.#calls.get(message.id)?.reject(fromWireError(message.error));
    else this.#calls.get(message.id)?.resolve(message.result as never);
  }

  #failCalls(): void {
    for (const { reject } of [...this.#calls.values()]) reject(gone());
  }
}

export const canceled = (method: MethodName): StateletError =>
  new StateletError('Canceled', `${method} was given up`);

const gone = (): StateletError =>
  new StateletError('Unavailable', 'the monitor of the embedded runtime went away during the call');

const foreignProtocol = ({ protocol, pid }: Hello): StateletError =>
  new StateletError(
    'FailedPrecondition',
    `the monitor of the embedded runtime (process ${pid}) speaks protocol ${protocol}, this statelet ` +
      `${PROTOCOL_VERSION}: another version of statelet started it. Remove its pods with that version, or end it, and ` +
      `its containers, by \`kill ${pid}\``,
  );
