/** A proxy between a daemon and its runtime that passes calls on unchanged and lets chosen calls fail. */
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import grpc, {
  type ClientReadableStream,
  type handleServerStreamingCall,
  type handleUnaryCall,
  type sendUnaryData,
  type ServerUnaryCall,
  type ServerWritableStream,
} from '@grpc/grpc-js';
import * as methods from '../../src/agent/runtime/cri/messages/methods.ts';
import type { Labels, RuntimeTap } from './runtime-tap.ts';
import { waitFor } from './wait-for.ts';

const STREAMS: readonly string[] = [
  methods.GET_CONTAINER_EVENTS.path,
  '/containerd.services.events.v1.Events/Subscribe',
];
const UNARY = Object.values(methods)
  .map(({ path }) => path)
  .filter((path) => !STREAMS.includes(path));
const OPTIONS = {
  'grpc.max_receive_message_length': 16 * 1024 * 1024,
  'grpc.max_send_message_length': 16 * 1024 * 1024,
};

export type MethodName =
  | ('RunPodSandbox' | 'StopPodSandbox' | 'RemovePodSandbox' | 'PodSandboxStatus' | 'ListPodSandbox')
  | ('CreateContainer' | 'StartContainer' | 'StopContainer' | 'RemoveContainer' | 'ContainerStatus')
  | ('ListContainers' | 'Status' | 'Version' | 'PullImage' | 'ImageStatus')
  | 'UpdateContainerResources';

type Call = ServerUnaryCall<Buffer, Buffer>;
type Answer = sendUnaryData<Buffer>;

/** A fault in the calls of one method, for one pod or for all. */
export class Fault {
  readonly method: MethodName;
  /** The number of calls that it has affected. */
  hits = 0;
  readonly handle: (call: Call, answer: Answer) => void;
  #lift: () => void;

  constructor(method: MethodName, handle: Fault['handle'], lift: () => void) {
    this.method = method;
    this.handle = handle;
    this.#lift = lift;
  }

  async wasHit(times = 1): Promise<void> {
    const what = `${this.method} to be called ${times} times`;
    await waitFor(() => this.hits >= times, { what });
  }

  /** Ends the fault: later calls are passed on unchanged. */
  lift(): void {
    this.#lift();
  }
}

/** A fault that holds calls back before they reach the runtime. */
export interface Hold extends Fault {
  /**
   * Passes the held calls on, also those that the daemon has cancelled meanwhile. Resolves when the runtime has answered all
   * of them. Later calls are passed on at once.
   */
  release(): Promise<void>;
}

export class CriProxy implements RuntimeTap {
  readonly endpoint: string;
  decide: RuntimeTap['decide'];
  readonly #socket: string;
  readonly #server = new grpc.Server(OPTIONS);
  readonly #client: grpc.Client;
  readonly #faults = new Set<{ fault: Fault; applies: (request: Buffer) => boolean }>();
  readonly made = new Map<string, Labels>();
  readonly cutShort = new Set<string>();
  /** The requests that created sandboxes and containers, by id. */
  readonly #ids = new Map<string, Buffer>();
  readonly #held: (() => Promise<void>)[] = [];
  readonly #streams = new Set<{
    up: ClientReadableStream<Buffer>;
    down: ServerWritableStream<Buffer, Buffer>;
  }>();

  /** `target`: the runtime's endpoint. */
  constructor(target: string) {
    this.#socket = join(dirname(target.slice('unix://'.length)), `proxy-${String(++proxies)}.sock`);
    this.endpoint = `unix://${this.#socket}`;
    this.#client = new grpc.Client(target, grpc.credentials.createInsecure(), {
      ...OPTIONS,
      'grpc.max_reconnect_backoff_ms': 200,
    });
    const unary: handleUnaryCall<Buffer, Buffer> = (call, answer) => this.#unary(call, answer);
    const stream: handleServerStreamingCall<Buffer, Buffer> = (call) => this.#stream(call);
    for (const path of UNARY) this.#server.register(path, unary, same, same, 'unary');
    for (const path of STREAMS) this.#server.register(path, stream, same, same, 'serverStream');
  }

  async start(): Promise<this> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const credentials = grpc.ServerCredentials.createInsecure();
    this.#server.bindAsync(this.endpoint, credentials, (error) =>
      error ? reject(error) : resolve(undefined),
    );
    await promise;
    return this;
  }

  stop(): void {
    this.#server.forceShutdown();
    this.#client.close();
    rmSync(this.#socket, { force: true });
  }

  /** Holds calls until they are released. `pod`: only calls for the pod of that name. */
  hold(method: MethodName, pod?: string): Hold {
    const held: (() => Promise<void>)[] = [];
    const fault = this.#add(method, pod, (call, answer) => {
      held.push(() => new Promise((done) => this.#pass(call, answer, done)));
    });
    const release = async () => {
      fault.lift();
      await Promise.all(held.map((pass) => pass()));
    };
    return Object.assign(fault, { release });
  }

  /** The runtime carries the calls out, and the daemon gets no answer. */
  loseAnswers(method: MethodName, pod?: string): Fault {
    return this.#add(method, pod, (call) => this.#pass(call, () => undefined));
  }

  /** The calls fail, and do not reach the runtime. */
  fail(method: MethodName, code: grpc.status, details: string, pod?: string): Fault {
    return this.#add(method, pod, (_call, answer) => answer({ code, details }));
  }

  async release(): Promise<void> {
    await Promise.all(this.#held.splice(0).map((pass) => pass()));
  }

  /** How many streams of events are open. */
  get streams(): number {
    return this.#streams.size;
  }

  /** Breaks the streams of events, as a lost connection would. */
  breakStreams(): void {
    for (const { up, down } of this.#streams) {
      up.removeAllListeners('error')
        .on('error', () => undefined)
        .cancel();
      down.emit('error', { code: grpc.status.UNAVAILABLE, details: 'broken' });
    }
  }

  #add(method: MethodName, pod: string | undefined, handle: Fault['handle']): Fault {
    const applies = (request: Buffer) => pod === undefined || this.#isOf(request, pod);
    const fault: Fault = new Fault(method, handle, () => this.#faults.delete(entry));
    const entry = { fault, applies };
    this.#faults.add(entry);
    return fault;
  }

  /** Whether the request names the pod, or the id of something that was created for it. */
  #isOf(request: Buffer, pod: string): boolean {
    if (request.includes(pod)) return true;
    return [...this.#ids].some(([id, origin]) => request.includes(id) && this.#isOf(origin, pod));
  }

  #unary(call: Call, answer: Answer): void {
    const name = call.getPath().split('/').at(-1) ?? '';
    const fate = this.decide?.(name) ?? 'passes';
    if (fate === 'held') this.#held.push(() => new Promise((done) => this.#pass(call, answer, done)));
    else if (fate === 'passes') this.#handle(name, call, answer);
    else if (fate === 'lost') return;
    else if ('waitsFor' in fate) void fate.waitsFor.then(() => this.#handle(name, call, answer));
    else this.#pass(call, fate.carriedOut);
  }

  #handle(name: string, call: Call, answer: Answer): void {
    const found = [...this.#faults].find(
      ({ fault, applies }) => fault.method === name && applies(call.request),
    );
    if (found === undefined) {
      this.#pass(call, answer);
      return;
    }
    found.fault.hits += 1;
    found.fault.handle(call, answer);
  }

  #pass(call: Call, answer: Answer, done?: () => void): void {
    const passed = this.#client.makeUnaryRequest(
      call.getPath(),
      same,
      same,
      call.request,
      headersOf(call.metadata),
      (error, response) => {
        if (response !== undefined) this.#learn(call, response);
        call.off('cancelled', cancel);
        answer(error, response ?? null);
        done?.();
      },
    );
    const cancel = () => {
      const { path, request } = methods.START_CONTAINER;
      if (call.getPath() === path) this.cutShort.add(request.decode(call.request).containerId);
      passed.cancel();
    };
    // A cancelled call that was held still reaches the runtime.
    call.on('cancelled', cancel);
  }

  /** Both answers contain only an id. */
  #learn(call: Call, response: Buffer): void {
    if (!/RunPodSandbox|CreateContainer$/.test(call.getPath())) return;
    const id = /[0-9a-f]{64}/.exec(response.toString('latin1'))?.[0];
    if (id === undefined) return;
    this.#ids.set(id, call.request);
    const isSandbox = call.getPath() === methods.RUN_POD_SANDBOX.path;
    const { decode } = (isSandbox ? methods.RUN_POD_SANDBOX : methods.CREATE_CONTAINER).request;
    this.made.set(id, decode(call.request).config.labels);
  }

  #stream(down: ServerWritableStream<Buffer, Buffer>): void {
    const up = this.#client.makeServerStreamRequest(
      down.getPath(),
      same,
      same,
      down.request,
      headersOf(down.metadata),
    );
    const entry = { up, down };
    this.#streams.add(entry);
    up.on('data', (message: Buffer) => down.write(message));
    up.on('error', (error) => down.emit('error', error));
    up.on('end', () => down.end());
    const end = () => {
      this.#streams.delete(entry);
      up.cancel();
    };
    down.on('cancelled', end).on('close', end).on('error', end);
  }
}

let proxies = 0;

const same = (bytes: Buffer): Buffer => bytes;

/** The headers for containerd's own services. */
function headersOf(metadata: grpc.Metadata): grpc.Metadata {
  const headers = new grpc.Metadata();
  for (const [key, value] of Object.entries(metadata.getMap())) {
    if (key.startsWith('containerd-')) headers.set(key, value);
  }
  return headers;
}
