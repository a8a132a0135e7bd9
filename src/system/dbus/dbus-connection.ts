/**
 * A connection to a peer that speaks D-Bus over a Unix socket. Own code, since the libraries do far more than is needed here, and take
 * messages as long as a peer says. Measured with Node 24, each bundled by esbuild (the last one as installed):
 *
 *   |                       | this folder | @jellybrick/dbus-next 0.11 | @homebridge/dbus-native 0.7 |
 *   | --------------------- | ----------- | -------------------------- | --------------------------- |
 *   | bundle                | 8 kB        | 126 kB                     | 152 kB                      |
 *   | CPU time to load      | 3 ms        | 19 ms                      | 29 ms                       |
 *   | resident when loaded  | +3 MB       | +11 MB                     | +12 MB                      |
 *   | longest message taken | 1 MB        | 4 GB                       | 4 GB                        |
 *   | license               |             | MIT                        | MIT                         |
 *
 * `busctl` would be a process for each call, and another one that waits for signals. With none of them can Node receive a descriptor, which
 * takes a native addon: the lock that holds a shutdown up stays with a child process (`src/agent/runtime/shutdown/logind.ts`).
 */
import { connect, type Socket } from 'node:net';
import type { Clock } from '../../types/clock.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import { systemClock, Timer } from '../timer.ts';
import { type DBusCall, type DBusMessage, decodeMessage, encodeCall, messageLength } from './dbus-message.ts';
import type { DBusValue } from './dbus-types.ts';

/** The peer's answer is an error. */
export class DBusError extends StateletError {
  /** For example `org.freedesktop.systemd1.NoSuchUnit`. */
  readonly errorName: string;

  constructor(errorName: string, message: string) {
    super(errorName === ACCESS_DENIED ? 'PermissionDenied' : 'Internal', message);
    this.errorName = errorName;
  }
}

export interface DBusConnectionOptions {
  readonly path: string;
  /** How long the peer may take until it takes calls. */
  readonly patienceMs: number;
  readonly onSignal: (signal: DBusMessage) => void;
  readonly onClosed: () => void;
  readonly clock?: Clock;
}

interface Waiting {
  readonly resolve: (values: readonly DBusValue[]) => void;
  readonly reject: (error: Error) => void;
  readonly timer: Timer;
}

const ACCESS_DENIED = 'org.freedesktop.DBus.Error.AccessDenied';
/** The answer to an offer of a way to authenticate is one short line. */
const LINE_BYTES_MAX = 512;
const TEXT_LENGTH_MAX = 500;

export class DBusConnection {
  readonly #options: DBusConnectionOptions;
  readonly #socket: Socket;
  readonly #waiting = new Map<number, Waiting>();
  readonly #clock: Clock;
  #received: Buffer = Buffer.alloc(0);
  #isAuthenticated = false;
  #serial = 0;
  /** Why no call can be made any more. */
  #problem: string | undefined;
  readonly #opened = Promise.withResolvers<undefined>();

  private constructor(options: DBusConnectionOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#socket = connect(options.path);
    this.#socket.on('connect', () => this.#authenticate());
    this.#socket.on('data', (bytes) => this.#receive(bytes));
    this.#socket.on('error', (error) => this.#end(errorMessage(error)));
    this.#socket.on('close', () => this.#end('the connection was closed'));
  }

  /** Rejects as Unavailable where the peer does not take calls. */
  static async open(options: DBusConnectionOptions): Promise<DBusConnection> {
    const connection = new DBusConnection(options);
    const { patienceMs } = options;
    const patience = new Timer(connection.#clock);
    patience.arm(patienceMs, () => connection.#end(`no answer within ${patienceMs / 1000} s`));
    try {
      await connection.#opened.promise;
    } finally {
      patience.disarm();
    }
    return connection;
  }

  get isClosed(): boolean {
    return this.#problem !== undefined;
  }

  /** Rejects with a DBusError, as DeadlineExceeded, or as Unavailable where the connection is lost. */
  call(call: DBusCall, patienceMs: number): Promise<readonly DBusValue[]> {
    if (this.#problem !== undefined) return Promise.reject(this.#lost(this.#problem));
    const serial = ++this.#serial;
    const { promise, resolve, reject } = Promise.withResolvers<readonly DBusValue[]>();
    const timer = new Timer(this.#clock);
    this.#waiting.set(serial, { resolve, reject, timer });
    timer.arm(patienceMs, () => {
      this.#waiting.delete(serial);
      const message = `${this.#options.path} did not answer ${call.member} within ${patienceMs / 1000} s`;
      reject(new StateletError('DeadlineExceeded', message));
    });
    this.#socket.write(encodeCall(call, serial));
    return promise;
  }

  close(): void {
    this.#end('the agent has closed the connection');
  }

  /** As the user of this process, which the peer gets from the kernel. */
  #authenticate(): void {
    const uid = Buffer.from(String(process.getuid?.() ?? 0)).toString('hex');
    this.#socket.write(`\0AUTH EXTERNAL ${uid}\r\n`);
  }

  #receive(bytes: Buffer): void {
    if (this.isClosed) return;
    this.#received = this.#received.length === 0 ? bytes : Buffer.concat([this.#received, bytes]);
    try {
      if (!this.#isAuthenticated) this.#readAuthentication();
      if (this.#isAuthenticated) this.#readMessages();
    } catch (error) {
      this.#end(`it sent ${errorMessage(error)}`);
    }
  }

  #readAuthentication(): void {
    const end = this.#received.indexOf('\r\n');
    const line = this.#received.toString('latin1', 0, end < 0 ? LINE_BYTES_MAX : end);
    if (end < 0 && this.#received.length <= LINE_BYTES_MAX) return;
    if (!line.startsWith('OK ')) throw new Error('no permission for the user of this process');
    this.#received = this.#received.subarray(end + 2);
    this.#isAuthenticated = true;
    this.#socket.write('BEGIN\r\n');
    this.#opened.resolve(undefined);
  }

  #readMessages(): void {
    for (;;) {
      const length = messageLength(this.#received);
      if (length === undefined || this.#received.length < length) return;
      const bytes = this.#received.subarray(0, length);
      this.#received = this.#received.subarray(length);
      this.#take(decodeMessage(bytes));
    }
  }

  #take(message: DBusMessage): void {
    if (message.type === 'signal') this.#options.onSignal(message);
    const serial = message.replySerial ?? 0;
    const waiting = this.#waiting.get(serial);
    if (!waiting || (message.type !== 'answer' && message.type !== 'error')) return;
    this.#waiting.delete(serial);
    waiting.timer.disarm();
    if (message.type === 'answer') waiting.resolve(message.body());
    else waiting.reject(errorOf(message));
  }

  #end(problem: string): void {
    if (this.#problem !== undefined) return;
    this.#problem = problem;
    this.#socket.destroy();
    const lost = this.#lost(problem);
    this.#opened.reject(lost);
    for (const { reject, timer } of this.#waiting.values()) {
      timer.disarm();
      reject(lost);
    }
    this.#waiting.clear();
    this.#options.onClosed();
  }

  #lost(problem: string): StateletError {
    return new StateletError('Unavailable', `${this.#options.path}: ${problem}`);
  }
}

function errorOf(message: DBusMessage): DBusError {
  const name = message.errorName ?? 'org.freedesktop.DBus.Error.Failed';
  const [text] = message.body();
  const why = typeof text === 'string' && text !== '' ? text : name;
  return new DBusError(name, why.slice(0, TEXT_LENGTH_MAX));
}
