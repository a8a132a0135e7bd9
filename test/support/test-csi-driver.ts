/**
 * A CSI driver of the tests: it speaks the protocol over a real socket, and mounts folders of the machine. It records its calls, and fails, hangs and
 * dies on demand.
 */
import { existsSync, lstatSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import {
  GET_INFO,
  NOTIFY_REGISTRATION_STATUS,
  type RegistrationStatus,
} from '../../src/agent/plugins/protocol/service-methods.ts';
import { parseMountInfo } from '../../src/agent/policies/formats/mountinfo.ts';
import type { CsiCapability } from '../../src/agent/policies/volumes/csi-source.ts';
import {
  type CsiNodeInfo,
  type ExpandRequest,
  NODE_EXPAND,
  NODE_GET_CAPABILITIES,
  NODE_GET_INFO,
  NODE_GET_STATS,
  NODE_PUBLISH,
  NODE_STAGE,
  NODE_UNPUBLISH,
  NODE_UNSTAGE,
  type PublishRequest,
  type StageRequest,
} from '../../src/agent/runtime/volumes/csi/csi-messages.ts';
import { type GrpcServer, grpcServer, servedMethod } from '../../src/system/grpc/grpc-server.ts';
import { OneAtATime } from '../../src/system/promises.ts';
import { runCommand } from '../../src/system/run-command.ts';
import { type ErrorKind, StateletError } from '../../src/types/errors.ts';
import { registered } from './plugin-registration.ts';
import { PATIENCE_MS } from './wait-for.ts';

export type CsiCall =
  | 'NodeExpandVolume'
  | 'NodeStageVolume'
  | 'NodePublishVolume'
  | 'NodeUnpublishVolume'
  | 'NodeUnstageVolume';

export interface TestCsiDriverOptions {
  readonly name: string;
  /** The folder of sockets of plugins of the agent. */
  readonly registryDir: string;
  /** A folder with a folder for each volume, by its handle. */
  readonly storage: string;
  /** Of volumes that are block devices: the path of the device, by the handle. */
  readonly devices?: ReadonlyMap<string, string>;
  readonly capabilities?: readonly CsiCapability[];
  readonly info?: Partial<CsiNodeInfo>;
}

/** `never`: the call hangs until the driver ends. */
type Fault = { readonly kind: ErrorKind; readonly words: string } | 'never';

export class TestCsiDriver {
  /** In the order in which they came: `NodeStageVolume vol-1`. */
  readonly calls: string[] = [];
  readonly staged: StageRequest[] = [];
  readonly published: PublishRequest[] = [];
  readonly expanded: ExpandRequest[] = [];
  /** What the agent reported about its registration. */
  readonly told: RegistrationStatus[] = [];
  /** Called with each call before it is carried out. */
  onCall: (call: CsiCall) => void = () => undefined;
  /** Calls that no agent may make, by CSI's rules for a node, as in csi-sanity, and by their order. */
  readonly violations: string[] = [];
  /** Faults of later calls. */
  readonly faults = new Map<CsiCall, Fault>();
  readonly #options: TestCsiDriverOptions;
  /** One mount after the other: a killed agent may have left one under way. */
  readonly #work = new OneAtATime();
  /** Where it has published volumes: the path, and the volume. */
  readonly #targets = new Map<string, string>();
  /** The block devices that are staged. */
  readonly #stagedDevices = new Set<string>();
  readonly #path: string;
  #server: Server | undefined;
  #grpc: GrpcServer | undefined;

  constructor(options: TestCsiDriverOptions) {
    this.#options = options;
    this.#path = join(options.registryDir, `${options.name}-reg.sock`);
  }

  /** The path of its socket. */
  get endpoint(): string {
    return this.#path;
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
    const grpc = (this.#grpc = grpcServer(this.#methods()));
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    this.#server = createServer((socket) => grpc.serve(socket));
    this.#server.once('error', reject).listen(this.#path, () => resolve(undefined));
    await promise;
  }

  /** Ends as if its process had died. Its mounts stay. `removesSocket`: as after an orderly end. */
  kill({ removesSocket = false } = {}): void {
    this.#grpc?.close();
    // Node removes the socket of a server that is closed.
    this.#server?.close();
    if (removesSocket) rmSync(this.#path, { force: true });
  }

  count(call: CsiCall): number {
    return this.calls.filter((one) => one.startsWith(`${call} `)).length;
  }

  #methods() {
    const { name, capabilities = ['STAGE_UNSTAGE_VOLUME'], info } = this.#options;
    return [
      servedMethod(GET_INFO, () =>
        Promise.resolve({ type: 'CSIPlugin', name, endpoint: '', supportedVersions: ['1.0.0'] }),
      ),
      servedMethod(NOTIFY_REGISTRATION_STATUS, (status) => {
        this.told.push(status);
        return Promise.resolve({});
      }),
      servedMethod(NODE_GET_INFO, () =>
        Promise.resolve({ nodeId: 'disk-node', maxVolumes: 0, topology: undefined, ...info }),
      ),
      servedMethod(NODE_GET_CAPABILITIES, () =>
        Promise.resolve({ capabilities: capabilities.map((type) => ({ rpc: { type } })) }),
      ),
      servedMethod(NODE_EXPAND, async (request) => {
        this.expanded.push(request);
        this.#mustHave('NodeExpandVolume', request, ['volumeId', 'volumePath']);
        this.#mustBePublished(request.volumePath, `${request.volumeId} grown before it is published`);
        await this.#called('NodeExpandVolume', request.volumeId);
        return {};
      }),
      servedMethod(NODE_GET_STATS, async (request) => {
        const { volumeId, path } = request;
        this.calls.push(`NodeGetVolumeStats ${volumeId}`);
        this.#mustHave('NodeGetVolumeStats', request, ['volumeId', 'path']);
        this.#mustBePublished(path, `figures of ${path}, where nothing is published`);
        return Promise.resolve({ usage: [{ available: 6, total: 7, used: 1, unit: 'BYTES' }] });
      }),
      servedMethod(NODE_STAGE, async (request) => {
        this.staged.push(request);
        this.#mustHave('NodeStageVolume', request, ['volumeId', 'stagingPath', 'capability']);
        await this.#called('NodeStageVolume', request.volumeId);
        const source = join(this.#options.storage, request.volumeId);
        if (request.capability.block) {
          // Some drivers keep files of their own there.
          writeFileSync(join(request.stagingPath, 'own'), '');
          this.#stagedDevices.add(request.volumeId);
        } else await this.#work.run(() => bind(source, request.stagingPath));
        return {};
      }),
      servedMethod(NODE_UNSTAGE, async (request) => {
        const { volumeId, stagingPath } = request;
        this.#mustHave('NodeUnstageVolume', request, ['volumeId', 'stagingPath']);
        const published = [...this.#targets].filter(([path, id]) => id === volumeId && mountsOf(path) > 0);
        for (const [path] of published)
          this.violations.push(`${volumeId} unstaged while published at ${path}`);
        await this.#called('NodeUnstageVolume', volumeId);
        this.#stagedDevices.delete(volumeId);
        await this.#work.run(() => unbind(stagingPath));
        return {};
      }),
      servedMethod(NODE_PUBLISH, async (request) => {
        this.published.push(request);
        this.#mustHave('NodePublishVolume', request, ['volumeId', 'targetPath', 'capability']);
        const isStaged = this.#stagedDevices.has(request.volumeId) || mountsOf(request.stagingPath) > 0;
        if (request.stagingPath !== '' && !isStaged)
          this.violations.push(`${request.volumeId} published before it is staged`);
        await this.#called('NodePublishVolume', request.volumeId);
        const { stagingPath, targetPath, volumeId, capability } = request;
        const mounted = stagingPath === '' ? join(this.#options.storage, volumeId) : stagingPath;
        const device = this.#options.devices?.get(volumeId);
        const source = capability.block && device !== undefined ? device : mounted;
        this.#targets.set(targetPath, volumeId);
        await this.#work.run(async () => {
          if (source === device) writeFileSync(targetPath, '', { flag: 'a' });
          else mkdirSync(targetPath, { recursive: true });
          await bind(source, targetPath);
        });
        return {};
      }),
      servedMethod(NODE_UNPUBLISH, async (request) => {
        const { volumeId, targetPath } = request;
        this.#mustHave('NodeUnpublishVolume', request, ['volumeId', 'targetPath']);
        await this.#called('NodeUnpublishVolume', volumeId);
        await this.#work.run(async () => {
          await unbind(targetPath);
          if (existsSync(targetPath) && lstatSync(targetPath).isFile()) rmSync(targetPath);
          else if (existsSync(targetPath)) rmdirSync(targetPath);
        });
        return {};
      }),
    ];
  }

  #mustHave<Request extends object>(
    call: CsiCall | 'NodeGetVolumeStats',
    request: Request,
    fields: readonly (keyof Request)[],
  ): void {
    for (const field of fields)
      if (!request[field]) this.#refuse('InvalidArgument', `${call} without ${String(field)}`);
  }

  #mustBePublished(path: string, violation: string): void {
    if (mountsOf(path) === 0) this.#refuse('NotFound', violation);
  }

  #refuse(kind: ErrorKind, violation: string): never {
    this.violations.push(violation);
    throw new StateletError(kind, violation);
  }

  async #called(call: CsiCall, volume: string): Promise<void> {
    this.calls.push(`${call} ${volume}`);
    this.onCall(call);
    const fault = this.faults.get(call);
    if (fault === 'never') await new Promise(() => undefined);
    else if (fault) throw new StateletError(fault.kind, fault.words);
  }
}

/** Mounts once, however often it is called. */
async function bind(source: string, target: string): Promise<void> {
  if (!existsSync(source)) mkdirSync(source, { recursive: true });
  if (!mountsOf(target)) await runCommand('mount', ['--bind', source, target], { timeoutMs: PATIENCE_MS });
}

async function unbind(target: string): Promise<void> {
  while (mountsOf(target) > 0) await runCommand('umount', [target], { timeoutMs: PATIENCE_MS });
}

/** How often something is mounted there. */
export function mountsOf(target: string): number {
  const mounts = parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8'));
  return mounts.filter(({ path }) => path === target).length;
}
