/** A device plugin of the tests: it speaks the protocol over real sockets, and behaves as the test wants. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import grpc, { type ServerWritableStream } from '@grpc/grpc-js';
import type { AllocatedContainer } from '../../src/agent/policies/devices/container-devices.ts';
import type { ListedDevice } from '../../src/agent/policies/devices/device-list.ts';
import { served } from '../../src/agent/plugins/protocol/service-methods.ts';
import {
  ALLOCATE,
  GET_OPTIONS,
  GET_PREFERRED_ALLOCATION,
  LIST_AND_WATCH,
  PRE_START_CONTAINER,
  REGISTER,
} from '../../src/agent/runtime/devices/device-messages.ts';
import { GrpcClient } from '../../src/system/grpc/grpc-client.ts';
import { acceptsConnections } from './accepts-connections.ts';
import { answering } from './served-grpc.ts';
import { PATIENCE_MS, waitFor } from './wait-for.ts';

export interface TestDevicePluginOptions {
  /** The folder of device plugins of the agent. */
  readonly folder: string;
  readonly resource: string;
  readonly devices: readonly ListedDevice[];
  /** What a container gets with these devices. */
  readonly allocate?: (
    ids: readonly string[],
  ) => Partial<AllocatedContainer> | Promise<Partial<AllocatedContainer>>;
  readonly preStart?: (ids: readonly string[]) => void | Promise<void>;
  /** The call fails. */
  readonly fails?: (call: 'GetDevicePluginOptions' | 'ListAndWatch') => boolean;
  readonly prefer?: (available: readonly string[], size: number) => readonly string[];
  readonly socket?: string;
}

const NOTHING: AllocatedContainer = { envs: {}, mounts: [], devices: [], annotations: {}, cdiDevices: [] };

export const healthy = (...ids: string[]): ListedDevice[] => ids.map((ID) => ({ ID, health: 'Healthy' }));

export class TestDevicePlugin {
  readonly path: string;
  /** The devices of each call of Allocate. */
  readonly allocated: (readonly string[])[] = [];
  /** How often ListAndWatch was called. */
  lists = 0;
  readonly #options: TestDevicePluginOptions;
  readonly #streams = new Set<ServerWritableStream<object, { devices: readonly ListedDevice[] }>>();
  #devices: readonly ListedDevice[];
  #server: grpc.Server | undefined;

  constructor(options: TestDevicePluginOptions) {
    this.#options = options;
    this.#devices = options.devices;
    this.path = join(options.folder, options.socket ?? `${options.resource.replaceAll('/', '-')}.sock`);
  }

  /** Listens; then asks the agent to be registered, and resolves when it is. */
  async start(): Promise<void> {
    const agent = join(this.#options.folder, 'kubelet.sock');
    await waitFor(() => acceptsConnections(agent), { what: 'the socket of the agent' });
    await this.listen();
    await this.register();
  }

  async listen(): Promise<void> {
    this.kill();
    rmSync(this.path, { force: true });
    const server = new grpc.Server();
    this.#server = server;
    server.addService(this.#service(), this.#calls());
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    server.bindAsync(`unix:${this.path}`, grpc.ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(undefined),
    );
    await promise;
  }

  async register(
    request: Partial<{ version: string; endpoint: string; resourceName: string }> = {},
  ): Promise<void> {
    const client = new GrpcClient('agent', join(this.#options.folder, 'kubelet.sock'));
    const endpoint = this.path.slice(this.#options.folder.length + 1);
    const own = { version: 'v1beta1', endpoint, resourceName: this.#options.resource };
    try {
      await client.call(REGISTER, { ...own, ...request }, AbortSignal.timeout(PATIENCE_MS));
    } finally {
      client.close();
    }
  }

  /** Ends its lists of devices, but goes on running. */
  endLists(): void {
    for (const stream of this.#streams) stream.end();
    this.#streams.clear();
  }

  /** Sends another list of devices to the agent. */
  list(devices: readonly ListedDevice[]): void {
    this.#devices = devices;
    for (const stream of this.#streams) stream.write({ devices });
  }

  /** Ends as if its process had died. */
  kill(): void {
    this.#server?.forceShutdown();
    this.#streams.clear();
  }

  /** An agent that starts has removed its socket: a plugin registers again then. */
  get hasSocket(): boolean {
    return existsSync(this.path);
  }

  #service(): grpc.ServiceDefinition {
    return {
      options: served(GET_OPTIONS),
      list: { ...served(LIST_AND_WATCH), responseStream: true },
      preferred: served(GET_PREFERRED_ALLOCATION),
      allocate: served(ALLOCATE),
      preStart: served(PRE_START_CONTAINER),
    };
  }

  #calls(): grpc.UntypedServiceImplementation {
    const { preStart, prefer, allocate, fails } = this.#options;
    const failure = (call: 'GetDevicePluginOptions' | 'ListAndWatch') =>
      fails?.(call) === true ? new Error(`${call} fails`) : undefined;
    type Ids = { readonly ids: readonly string[] };
    return {
      options: answering(() => {
        const problem = failure('GetDevicePluginOptions');
        if (problem) throw problem;
        return {
          preStartRequired: preStart !== undefined,
          getPreferredAllocationAvailable: prefer !== undefined,
        };
      }),
      list: ((stream: ServerWritableStream<object, { devices: readonly ListedDevice[] }>) => {
        this.lists += 1;
        const problem = failure('ListAndWatch');
        if (problem) return void stream.destroy(problem);
        this.#streams.add(stream);
        stream.on('cancelled', () => this.#streams.delete(stream));
        stream.write({ devices: this.#devices });
      }) as never,
      preferred: answering(
        ({
          containers: [first],
        }: {
          containers: readonly { available: readonly string[]; size: number }[];
        }) => ({
          containers: [{ ids: prefer?.(first?.available ?? [], first?.size ?? 0) ?? [] }],
        }),
      ),
      allocate: answering(async ({ containers }: { containers: readonly Ids[] }) => {
        const ids = containers[0]?.ids ?? [];
        this.allocated.push(ids);
        return { containers: [{ ...NOTHING, ...(await allocate?.(ids)) }] };
      }),
      preStart: answering(async ({ ids }: Ids) => {
        await preStart?.(ids);
        return {};
      }),
    };
  }
}
