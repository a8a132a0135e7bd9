/**
 * A DRA driver of the tests: it speaks the protocol over a real socket, and gives containers a variable by CDI. It records its calls, and fails,
 * hangs and dies on demand.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import grpc, { type ServerWritableStream } from '@grpc/grpc-js';
import {
  GET_INFO,
  NOTIFY_REGISTRATION_STATUS,
  type RegistrationStatus,
  served,
} from '../../src/agent/plugins/protocol/service-methods.ts';
import type { ClaimDevice, ClaimKey } from '../../src/agent/policies/dra/claim-devices.ts';
import type { ReportedHealth } from '../../src/agent/policies/dra/device-health-list.ts';
import type { DraService } from '../../src/agent/policies/dra/dra-registration.ts';
import { prepareMethod, unprepareMethod, WATCH_RESOURCES } from '../../src/agent/runtime/dra/dra-messages.ts';
import { type ErrorKind, StateletError } from '../../src/types/errors.ts';
import { answering } from './served-grpc.ts';
import { registered } from './plugin-registration.ts';

type DraCall = 'NodePrepareResources' | 'NodeUnprepareResources';

export interface TestDraDriverOptions {
  readonly name: string;
  /** The folder of sockets of plugins of the agent. */
  readonly registryDir: string;
  /** Where the runtime looks for CDI specs. */
  readonly cdiDir?: string;
  readonly version?: 'v1' | 'v1beta1';
  readonly devices?: (claim: ClaimKey) => readonly ClaimDevice[];
}

/**
 * A promise: the call waits for it. `never`: the call hangs until the driver ends. `skips`: the answer has no claims. `words`: the error of each
 * claim.
 */
type Fault =
  | { readonly kind: ErrorKind; readonly words: string }
  | { readonly words: string; readonly kind?: undefined }
  | Promise<undefined>
  | 'never'
  | 'skips';

type Asked = { readonly claims: readonly ClaimKey[] };
type HealthStream = ServerWritableStream<object, { readonly devices: readonly ReportedHealth[] }>;

/** The name of the CDI device of a claim of that driver. */
export function cdiIdOf(driver: string, { uid }: Pick<ClaimKey, 'uid'>): string {
  return `${driver}/claim=${uid}`;
}

export class TestDraDriver {
  /** In the order in which they came: `NodePrepareResources claim-1 claim-2`. */
  readonly calls: string[] = [];
  /** The UIDs of the claims that are prepared now. */
  readonly prepared = new Set<string>();
  /** What the agent reported about its registration. */
  readonly told: RegistrationStatus[] = [];
  /** Faults of later calls. */
  readonly faults = new Map<DraCall, Fault>();
  readonly #options: TestDraDriverOptions;
  readonly #path: string;
  readonly #streams = new Set<HealthStream>();
  #health: readonly ReportedHealth[] = [];
  #server: grpc.Server | undefined;

  constructor(options: TestDraDriverOptions) {
    this.#options = options;
    this.#path = join(options.registryDir, `${options.name}-reg.sock`);
  }

  /** Resolves when the agent has said that it is registered. */
  async start(): Promise<void> {
    await this.listen();
    await registered(this.told);
  }

  async listen(): Promise<void> {
    mkdirSync(this.#options.registryDir, { recursive: true });
    rmSync(this.#path, { force: true });
    this.told.length = 0;
    const server = (this.#server = new grpc.Server());
    server.addService(...this.#service());
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    server.bindAsync(`unix:${this.#path}`, grpc.ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(undefined),
    );
    await promise;
  }

  /** Its socket goes with it. What it has prepared stays. */
  kill(): void {
    this.#server?.forceShutdown();
    this.#streams.clear();
    rmSync(this.#path, { force: true });
  }

  count(call: DraCall): number {
    return this.calls.filter((one) => one.startsWith(`${call} `)).length;
  }

  tellHealth(devices: readonly ReportedHealth[]): void {
    this.#health = devices;
    for (const stream of this.#streams) stream.write({ devices });
  }

  #service(): [grpc.ServiceDefinition, grpc.UntypedServiceImplementation] {
    const { name, version = 'v1' } = this.#options;
    const service: DraService = `k8s.io.kubelet.pkg.apis.dra.${version}.DRAPlugin`;
    const supportedVersions = [`${version}.DRAPlugin`, 'v1alpha1.DRAResourceHealth'];
    const methods = {
      info: served(GET_INFO),
      notify: served(NOTIFY_REGISTRATION_STATUS),
      prepare: served(prepareMethod(service)),
      unprepare: served(unprepareMethod(service)),
      health: { ...served(WATCH_RESOURCES), responseStream: true },
    };
    return [
      methods,
      {
        info: answering(() => ({ type: 'DRAPlugin', name, endpoint: '', supportedVersions })),
        notify: answering((status: RegistrationStatus) => {
          this.told.push(status);
          return {};
        }),
        prepare: answering((asked: Asked) =>
          this.#answer('NodePrepareResources', asked, (claim) => ({
            devices: this.#prepare(claim),
            error: '',
          })),
        ),
        unprepare: answering((asked: Asked) =>
          this.#answer('NodeUnprepareResources', asked, (claim) => this.#unprepare(claim)),
        ),
        health: ((stream: HealthStream) => {
          this.#streams.add(stream);
          stream.on('cancelled', () => this.#streams.delete(stream));
          stream.write({ devices: this.#health });
        }) as never,
      },
    ];
  }

  async #answer(call: DraCall, { claims }: Asked, work: (claim: ClaimKey) => { readonly error: string }) {
    this.calls.push([call, ...claims.map(({ name }) => name)].join(' '));
    const fault = this.faults.get(call);
    if (fault instanceof Promise) {
      await fault;
      return answersOf(claims, work);
    }
    if (fault === 'never') await new Promise(() => undefined);
    if (fault === 'skips') return { claims: {} };
    if (fault && fault !== 'never' && fault.kind) throw new StateletError(fault.kind, fault.words);
    return answersOf(claims, fault && fault !== 'never' ? () => ({ devices: [], error: fault.words }) : work);
  }

  #prepare(claim: ClaimKey): readonly ClaimDevice[] {
    const { name, cdiDir, devices } = this.#options;
    this.prepared.add(claim.uid);
    if (cdiDir !== undefined) writeFileSync(this.#specPath(claim), cdiSpec(name, claim));
    if (devices) return devices(claim);
    const cdiIds = [cdiIdOf(name, claim)];
    return [{ pool: 'pool', device: 'device-1', shareId: '', requests: [], cdiIds }];
  }

  #unprepare(claim: ClaimKey): { readonly error: string } {
    this.prepared.delete(claim.uid);
    if (this.#options.cdiDir !== undefined) rmSync(this.#specPath(claim), { force: true });
    return { error: '' };
  }

  #specPath({ uid }: ClaimKey): string {
    return join(this.#options.cdiDir ?? '', `${this.#options.name}-${uid}.json`);
  }
}

function answersOf(claims: readonly ClaimKey[], work: (claim: ClaimKey) => { readonly error: string }) {
  return { claims: Object.fromEntries(claims.map((claim) => [claim.uid, work(claim)])) };
}

/** The variable CLAIM of the container has the claim's name. */
function cdiSpec(driver: string, { uid, name }: ClaimKey): string {
  const devices = [{ name: uid, containerEdits: { env: [`CLAIM=${name}`] } }];
  return JSON.stringify({ cdiVersion: '0.6.0', kind: `${driver}/claim`, devices });
}
