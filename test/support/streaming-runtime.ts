/** A runtime that hands over the streams of its commands, which the test holds at the other end. */
import { PassThrough, type Duplex } from 'node:stream';
import type {
  AttachRequest,
  CommandStreams,
  ExecRequest,
  PortForwarder,
  Streaming,
  StreamingRuntime,
  StreamSelection,
  TerminalSize,
} from '../../src/agent/runtime/service/streaming-runtime.ts';
import type { RuntimeService } from '../../src/agent/runtime/service/runtime-service.ts';
import type { StreamingApi } from '../../src/agent/server/streaming/streaming-routes.ts';
import type { Pod } from '../../src/types/kubernetes.ts';

/** A command that was started, from the side of its process. */
export class HeldCommand implements CommandStreams {
  readonly stdin: PassThrough | undefined;
  readonly stdout: PassThrough | undefined;
  readonly stderr: PassThrough | undefined;
  readonly exit: Promise<number>;
  readonly sizes: TerminalSize[] = [];
  isAbandoned = false;
  readonly #exit = Promise.withResolvers<number>();
  readonly #abandoned = Promise.withResolvers<undefined>();

  constructor({ stdin, stdout, stderr }: StreamSelection) {
    this.stdin = stdin ? new PassThrough() : undefined;
    this.stdout = stdout ? new PassThrough() : undefined;
    this.stderr = stderr ? new PassThrough() : undefined;
    this.exit = this.#exit.promise;
  }

  get abandoned(): Promise<undefined> {
    return this.#abandoned.promise;
  }

  resize(size: TerminalSize): void {
    this.sizes.push(size);
  }

  abandon(): void {
    this.isAbandoned = true;
    this.#abandoned.resolve(undefined);
    this.fail(new Error('the command was given up'));
  }

  end(exitCode: number): void {
    this.stdout?.end();
    this.stderr?.end();
    this.#exit.resolve(exitCode);
  }

  fail(error: Error): void {
    this.stdout?.end();
    this.stderr?.end();
    this.#exit.reject(error);
  }
}

export class HeldRuntime implements StreamingRuntime {
  readonly asked: object[] = [];
  /** The error of the next calls. */
  refusal: Error | undefined;
  /** Where the runtime carries the streams itself. */
  url: URL | undefined;
  connect: PortForwarder['connect'] = () => Promise.reject(new Error('nothing listens'));
  forwardersClosed = 0;
  readonly #started: HeldCommand[] = [];
  #next = Promise.withResolvers<undefined>();

  exec(request: ExecRequest): Promise<Streaming<CommandStreams>> {
    return this.#start({ exec: request }, request);
  }

  attach(request: AttachRequest): Promise<Streaming<CommandStreams>> {
    return this.#start({ attach: request }, request);
  }

  portForward(request: object): Promise<Streaming<PortForwarder>> {
    this.asked.push({ portForward: request });
    if (this.refusal) return Promise.reject(this.refusal);
    if (this.url) return Promise.resolve({ url: this.url });
    const connections = new Set<Duplex>();
    const connect = async (port: number) => {
      const connection = await this.connect(port);
      connections.add(connection);
      return connection;
    };
    const close = () => {
      this.forwardersClosed += 1;
      for (const connection of connections) connection.destroy();
    };
    return Promise.resolve({ streams: { connect, close } });
  }

  /** The next command that is started. */
  async command(): Promise<HeldCommand> {
    for (;;) {
      const command = this.#started.shift();
      if (command) return command;
      await this.#next.promise;
    }
  }

  get startedCount(): number {
    return this.asked.length;
  }

  #start(asked: object, selection: StreamSelection): Promise<Streaming<CommandStreams>> {
    this.asked.push(asked);
    if (this.refusal) return Promise.reject(this.refusal);
    if (this.url) return Promise.resolve({ url: this.url });
    const command = new HeldCommand(selection);
    this.#started.push(command);
    this.#next.resolve(undefined);
    this.#next = Promise.withResolvers<undefined>();
    return Promise.resolve({ streams: command });
  }
}

/** One pod, `shop/web` with the UID `u-1`. Its container `app` runs, and so does `term`, which has a terminal. */
export function streamingApi(streaming: StreamingRuntime, more: Partial<RuntimeService> = {}): StreamingApi {
  const pod: Pod = {
    metadata: { name: 'web', namespace: 'shop', uid: 'u-1' },
    spec: { containers: [{ name: 'app' }, { name: 'term', tty: true }, { name: 'ended' }] },
  };
  const listed = (filter: { labelSelector?: Readonly<Record<string, string>> } = {}) => {
    const name = filter.labelSelector?.['io.kubernetes.container.name'] ?? '';
    return Promise.resolve(['app', 'term'].includes(name) ? [{ id: `id-of-${name}`, createdAt: 1 }] : []);
  };
  const runtime = {
    streaming,
    listContainers: listed,
    listPodSandbox: () => Promise.resolve([{ id: 'sandbox', createdAt: 1 }]),
    ...more,
  } as unknown as RuntimeService;
  return {
    runtime,
    streamingIdleMs: 0,
    pod: (namespace, name) =>
      namespace === 'shop' && name === 'web' ? { pod, state: 'Syncing.Settled' } : undefined,
  };
}
