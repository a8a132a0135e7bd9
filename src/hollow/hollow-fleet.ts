/** Hollow nodes in a real cluster: the composition root of `statelet hollow`. */
import { setImmediate as turn } from 'node:timers/promises';
import { ApiConnection } from '../agent/actors/cluster/api-connection.ts';
import { openApiClients } from '../agent/cluster/client/open-api-clients.ts';
import { KubeconfigCredentials } from '../agent/cluster/credentials/kubeconfig-credentials.ts';
import type { ApiServer } from '../agent/cluster/service/api-server.ts';
import type { WatchContext } from '../agent/cluster/watches/reflect.ts';
import { nodeAddresses } from '../agent/runtime/node/node-addresses.ts';
import { lockRootDir, type RootLock } from '../agent/runtime/node/root-files.ts';
import { keyedRandom } from '../simulation/plan/seeded-random.ts';
import { systemClock } from '../system/timer.ts';
import { problemText } from '../agent/sources/source.ts';
import type { AgentContext } from '../types/agent-context.ts';
import { invalid } from '../types/errors.ts';
import type { Logger } from '../types/logger.ts';
import type { ServerSettings } from '../types/node-settings.ts';
import { Attacher } from './cluster/attacher.ts';
import { PlannedVolumes } from './cluster/planned-volumes.ts';
import { RequestGate } from './cluster/request-gate.ts';
import { Resizer } from './cluster/resizer.ts';
import { SharedWatches } from './cluster/shared-watches.ts';
import type { Fleet } from './node/fleet.ts';
import { HollowNode } from './node/hollow-node.ts';
import { failByPlan } from './node/outages.ts';
import { readStaticPods } from './node/hollow-static-pods.ts';
import type { HollowPlan } from './plan/hollow-plan.ts';
import { openHollowControl } from './serve/hollow-control.ts';
import type { ServedSettings } from './serve/hollow-routes.ts';
import { type HollowServer, openHollowServer } from './serve/hollow-server.ts';

const USER_AGENT = 'statelet-hollow';

export interface HollowOptions {
  readonly plan: HollowPlan;
  readonly kubeconfig: string;
  readonly nodes: number;
  /** Of this process: lock, socket, certificate, logs. */
  readonly rootDir: string;
  /** The address of all nodes. Default: that of this machine. */
  readonly nodeIP?: string | undefined;
  readonly server: ServerSettings;
  readonly served: ServedSettings;
  readonly logger: Logger;
}

/**
 * Rejects with `FailedPrecondition` where the server cannot be opened, or another process has the root folder, and with `InvalidArgument`
 * where static pods cannot be read.
 */
export async function openHollowFleet(options: HollowOptions): Promise<HollowFleet> {
  const lock = await lockRootDir(options.rootDir);
  const fleet = new HollowFleet(options, lock);
  try {
    await fleet.open();
    return fleet;
  } catch (error) {
    await fleet.stop();
    throw error;
  }
}

export class HollowFleet {
  readonly nodes = new Map<string, HollowNode>();
  readonly #options: HollowOptions;
  readonly #context: AgentContext;
  readonly #lock: RootLock;
  readonly #connection: ApiConnection;
  readonly #clients: ReturnType<typeof openApiClients>;
  readonly #timing: WatchContext;
  readonly #watches: SharedWatches;
  /** Each ends the deaths of a node. */
  readonly #deaths: (() => void)[] = [];
  /** Of the plan's CSI drivers. */
  readonly #controllers: { close(): void }[] = [];
  #server: HollowServer | undefined;
  #closeControl: (() => Promise<void>) | undefined;
  #isStopping = false;
  readonly #isOwn = (name: string) => this.nodes.has(name);

  constructor(options: HollowOptions, lock: RootLock) {
    const { kubeconfig, logger } = options;
    this.#options = options;
    this.#lock = lock;
    const nothing = () => undefined;
    const recorder = { event: nothing, nodeEvent: nothing };
    this.#context = { clock: systemClock, random: Math.random, logger, recorder };
    this.#connection = new ApiConnection(this.#context, kubeconfig);
    const credentials = new KubeconfigCredentials(this.#context, kubeconfig);
    this.#clients = openApiClients(credentials, this.#connection, { userAgent: USER_AGENT });
    this.#timing = { ...this.#context, recovered: this.#connection.recoveries };
    this.#watches = new SharedWatches(this.#timing, { api: this.#clients.main, isOwn: this.#isOwn });
  }

  async open(): Promise<void> {
    const { plan, logger, nodes: count, nodeIP, rootDir, server: settings, served } = this.#options;
    await checkStaticPods(plan);
    this.#connection.start();
    const { main: api } = this.#clients;
    const names = Array.from({ length: count }, (_, index) => `${plan.names}${String(index + 1)}`);
    this.#server = await openHollowServer(this.#context, {
      settings,
      rootDir,
      api,
      names,
      nodes: this.nodes,
      served,
    });
    const [address = ''] = nodeAddresses(nodeIP === undefined ? [] : [nodeIP]);
    const { ports } = this.#server;
    const gate = new RequestGate();
    const volumes = this.#openControllers(api, gate);
    const fleet: Fleet = {
      plan,
      logger,
      clients: this.#clients,
      gate,
      watches: this.#watches,
      address,
      ports,
      volumesOf: (driver) => volumes?.of(driver),
      rootDir,
    };
    for (const name of names) this.nodes.set(name, new HollowNode(fleet, name));
    this.#connection.onChange(({ state }) => {
      if (state === 'Connected') for (const { agent } of this.nodes.values()) agent?.connected();
    });
    this.#closeControl = await openHollowControl(rootDir, this.nodes);
    logger.info({ nodes: count, address, port: ports.get(names[0] ?? '') }, 'Hollow nodes join the cluster');
  }

  /** Resolves when all agents have been started. */
  async start(): Promise<void> {
    for (const node of this.nodes.values()) {
      if (this.#isStopping) return;
      node.start();
      this.#mayDie(node);
      // What has come meanwhile is read before the next one starts.
      await turn();
    }
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const end of this.#deaths) end();
    for (const controller of this.#controllers) controller.close();
    await this.#closeControl?.();
    await this.#server?.close();
    await Promise.all(Array.from(this.nodes.values(), (node) => node.stop()));
    this.#watches.close();
    this.#clients.close();
    this.#connection.stop();
    this.#lock.release();
  }

  /** What serves the CSI drivers of the plan beside their nodes. */
  #openControllers(api: ApiServer, gate: RequestGate): PlannedVolumes | undefined {
    const { csiDrivers: drivers, seed, disk: use } = this.#options.plan;
    if (drivers.length === 0) return undefined;
    const random = keyedRandom(seed);
    const parts = { api, gate, drivers, random };
    const volumes = new PlannedVolumes(this.#timing, {
      api,
      drivers: drivers.map(({ name }) => name),
      use,
      random,
    });
    this.#controllers.push(volumes);
    if (drivers.some(({ isAttaching }) => isAttaching))
      this.#controllers.push(new Attacher(this.#timing, { ...parts, isOwn: this.#isOwn }));
    if (drivers.some(({ isResizing }) => isResizing))
      this.#controllers.push(new Resizer(this.#timing, parts));
    return volumes;
  }

  /** By plan: the node dies, comes back, and lives until it dies again. */
  #mayDie(node: HollowNode): void {
    const { deaths } = this.#options.plan;
    if (deaths === undefined) return;
    const end = failByPlan(deaths, (what) => node.machine.random(`death/${what}`), {
      fail: () => node.kill(),
      recover: () => node.start(),
    });
    this.#deaths.push(end);
  }
}

/** Throws `InvalidArgument` where there is no such file, or a manifest is broken: no node would have its pods. */
async function checkStaticPods({ staticPodPath, names }: HollowPlan): Promise<void> {
  if (staticPodPath === undefined) return;
  const { problems } = await readStaticPods(staticPodPath, `${names}1`);
  if (problems.length > 0) throw invalid(`staticPodPath: ${problems.map(problemText).join('; ')}`);
}
