/** A proxy between daemons and the monitor of the embedded runtime. */
import { linkSync, mkdirSync, renameSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import {
  type ClientMessage,
  encode,
  LineSplitter,
  type MonitorMessage,
  type Params,
  type Request,
} from '../../src/embedded/monitor/protocol.ts';
import type { Fate, Labels, RuntimeTap } from './runtime-tap.ts';

export class MonitorProxy implements RuntimeTap {
  decide: RuntimeTap['decide'];
  readonly made = new Map<string, Labels>();
  /** The monitor carries out every call that reaches it. */
  readonly cutShort = new Set<string>();
  /** A root folder for clients that do not use the proxy. */
  readonly bypassDir: string;
  readonly #socket: string;
  readonly #monitor: string;
  readonly #server = createServer((client) => this.#accept(client));
  readonly #held: (() => Promise<void>)[] = [];

  /** The monitor of that root folder must run already. */
  constructor(rootDir: string) {
    this.bypassDir = join(rootDir, '..', 'bypass');
    this.#socket = join(rootDir, 'runtime', 'monitor.sock');
    this.#monitor = join(this.bypassDir, 'runtime', 'monitor.sock');
  }

  async start(): Promise<this> {
    mkdirSync(join(this.bypassDir, 'runtime'), { recursive: true });
    linkSync(this.#socket, this.#monitor);
    const draft = join(this.bypassDir, 'proxy.sock');
    await new Promise<void>((resolve) => this.#server.listen(draft, resolve));
    // In one step, as a monitor without its socket creates another one.
    renameSync(draft, this.#socket);
    return this;
  }

  /** Open connections are not closed. */
  stop(): void {
    renameSync(this.#monitor, this.#socket);
    this.#server.close();
  }

  async release(): Promise<void> {
    await Promise.all(this.#held.splice(0).map((pass) => pass()));
  }

  #accept(client: Socket): void {
    const line = new ProxyLine(client, connect(this.#monitor));
    line.onRequest = (request) => void this.#receive(line, request);
  }

  async #receive(line: ProxyLine, request: Request): Promise<void> {
    const fate: Fate = this.decide?.(criName(request.method)) ?? 'passes';
    if (fate === 'lost') return;
    if (fate === 'held') {
      const letGo = line.keep();
      this.#held.push(() => this.#pass(line, request).finally(letGo));
    } else if (typeof fate === 'string') {
      await this.#pass(line, request);
    } else if ('waitsFor' in fate) {
      await fate.waitsFor;
      await this.#pass(line, request);
    } else {
      await this.#pass(line, request, fate.carriedOut);
    }
  }

  async #pass(line: ProxyLine, request: Request, instead?: () => void): Promise<void> {
    const answer = await line.ask(request);
    this.#learn(request, answer);
    if (instead === undefined) line.reply(answer);
    else instead();
  }

  #learn({ method, params }: Request, answer: MonitorMessage): void {
    if (!('result' in answer) || typeof answer.result !== 'string') return;
    const [sandbox] = params as Params<'runPodSandbox'>;
    const [, container] = params as Params<'createContainer'>;
    if (method === 'runPodSandbox') this.made.set(answer.result, sandbox.labels);
    if (method === 'createContainer') this.made.set(answer.result, container.labels);
  }
}

/** A client's connection with its connection to the monitor. */
class ProxyLine {
  onRequest: (request: Request) => void = () => undefined;
  readonly #client: Socket;
  readonly #monitor: Socket;
  readonly #asked = new Map<number, (answer: MonitorMessage) => void>();
  #kept = 0;

  constructor(client: Socket, monitor: Socket) {
    this.#client = client;
    this.#monitor = monitor;
    read(client, (value) => {
      const message = value as ClientMessage;
      if ('cancel' in message) monitor.write(encode(message));
      else this.onRequest(message);
    });
    read(monitor, (value) => {
      const message = value as MonitorMessage;
      const whose = 'id' in message ? this.#asked.get(message.id) : undefined;
      if (whose === undefined) this.reply(message);
      else whose(message);
    });
    client.on('error', () => undefined).on('close', () => this.#hangUp());
    monitor.on('error', () => undefined).on('close', () => client.destroy());
  }

  /** Keeps the connection to the monitor open without the client, until the returned function is called. */
  keep(): () => void {
    this.#kept += 1;
    return () => {
      this.#kept -= 1;
      this.#hangUp();
    };
  }

  async ask(request: Request): Promise<MonitorMessage> {
    const { promise, resolve } = Promise.withResolvers<MonitorMessage>();
    this.#asked.set(request.id, resolve);
    this.#monitor.write(encode(request));
    return promise.finally(() => this.#asked.delete(request.id));
  }

  reply(message: MonitorMessage): void {
    if (this.#client.writable) this.#client.write(encode(message));
  }

  #hangUp(): void {
    if (this.#client.destroyed && this.#kept === 0) this.#monitor.destroy();
  }
}

function read(socket: Socket, receive: (message: unknown) => void): void {
  const lines = new LineSplitter();
  socket.on('data', (chunk) => {
    for (const line of lines.push(chunk)) receive(JSON.parse(line));
  });
}

const criName = (method: string): string => method.charAt(0).toUpperCase() + method.slice(1);
