/** Suites of tests with a daemon that is a node of a cluster: control plane, containerd and daemon of their own. */
import { afterAll, beforeAll, describe } from '@jest/globals';
import { errorMessage } from '../../src/types/errors.ts';
import type { Container, Node, Pod } from '../../src/types/kubernetes.ts';
import { startContainerd } from './containerd/containerd.ts';
import { describeWithContainerd } from './containerd/suite.ts';
import { type ControlPlane, startOne, type SuiteOptions, whySkipped } from './control-plane.ts';
import { CriDaemonBed, type CriDaemonOptions, SERVING } from './cri-daemon.ts';
import { type Daemon, NODE_NAME } from './daemon.ts';
import { later } from './later.ts';
import { waitFor } from './wait-for.ts';

export interface ClusterOptions extends CriDaemonOptions {
  readonly controlPlane?: Omit<SuiteOptions, 'nodeName'>;
  /** More flags of the daemon. */
  readonly flags?: readonly string[];
}

/** What tests look at of an event. */
export interface CoreEvent {
  readonly reason: string;
  readonly message: string;
  readonly involvedObject: { readonly name: string; readonly fieldPath?: string };
}

export class ClusterBed {
  readonly controlPlane: ControlPlane;
  readonly bed: CriDaemonBed;
  readonly #flags: readonly string[];
  #daemon: Daemon | undefined;

  constructor(controlPlane: ControlPlane, bed: CriDaemonBed, flags: readonly string[]) {
    this.controlPlane = controlPlane;
    this.bed = bed;
    this.#flags = flags;
  }

  get daemon(): Daemon {
    if (this.#daemon === undefined) throw new Error('no daemon has been started');
    return this.#daemon;
  }

  async startDaemon(...flags: readonly string[]): Promise<Daemon> {
    return (this.#daemon = await this.bed.start(...this.#ownFlags(), ...flags));
  }

  /** Does not wait until it serves. */
  launchDaemon(env: Readonly<Record<string, string>>): Daemon {
    return (this.#daemon = this.bed.launch(this.#ownFlags(), env));
  }

  #ownFlags(): readonly string[] {
    const { nodeKubeconfig, nodeIp, serverFlags } = this.controlPlane;
    return ['--kubeconfig', nodeKubeconfig, '--node-ip', nodeIp, ...serverFlags, ...this.#flags];
  }

  /** A pod that is bound to the node, without a token of its service account. */
  async create(
    name: string,
    spec: Partial<Pod['spec']>,
    metadata: Partial<Pod['metadata']> = {},
  ): Promise<void> {
    const own = {
      automountServiceAccountToken: false,
      nodeName: NODE_NAME,
      terminationGracePeriodSeconds: 5,
    };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, ...metadata }, spec: { ...own, ...spec } };
    await this.controlPlane.apply(pod);
  }

  /** A container that runs until SIGTERM. */
  server(fields: Partial<Container> = {}): Container {
    return this.shell(SERVING, fields);
  }

  shell(script: string, fields: Partial<Container> = {}): Container {
    const { image } = this.bed.containerd;
    const command = ['sh', '-c', script];
    return { name: 'main', image, imagePullPolicy: 'IfNotPresent', command, ...fields };
  }

  async pod(name: string): Promise<Pod | undefined> {
    return this.controlPlane.read<Pod>(`${IN_DEFAULT}/pods/${name}`);
  }

  /** Asks until the answer is neither undefined nor false. The error also shows what the daemon has logged. */
  async until<T>(what: string, check: Parameters<typeof waitFor<T>>[0]): Promise<T> {
    return waitFor(check, { what, pauseMs: PAUSE_MS }).catch((error: unknown) => {
      const seen = this.#daemon?.transcript ?? 'no daemon has been started';
      throw new Error(`${errorMessage(error)}; ${seen}`, { cause: error });
    });
  }

  /** Resolves with the pod as the API server has it, once it is so. */
  async podIs(what: string, name: string, is: (pod: Pod) => boolean): Promise<Pod> {
    let last: Pod | undefined;
    const check = async () => {
      last = await this.pod(name);
      return last !== undefined && is(last) && last;
    };
    return this.until(`${name} to be ${what}`, check).catch((error: unknown) => {
      throw new Error(`it is ${JSON.stringify(last?.status)}: ${errorMessage(error)}`, { cause: error });
    });
  }

  async podIsReady(name: string): Promise<Pod> {
    return this.podIs('ready', name, ({ status }) => conditionOf(status, 'Ready') === 'True');
  }

  async podIsGone(name: string): Promise<void> {
    const gone = async () => (await this.pod(name)) === undefined;
    await this.until(`${name} to be gone`, gone);
  }

  async node(): Promise<Node> {
    const node = await this.controlPlane.read<Node>(`/api/v1/nodes/${NODE_NAME}`);
    if (node === undefined) throw new Error(`there is no node ${NODE_NAME}`);
    return node;
  }

  async nodeIs(what: string, is: (node: Node) => boolean): Promise<Node> {
    const check = async () => {
      const node = await this.node().catch(() => undefined);
      return node !== undefined && is(node) && node;
    };
    return this.until(`the node to be ${what}`, check);
  }

  async nodeIsReady(): Promise<Node> {
    return this.nodeIs('ready', ({ status }) => conditionOf(status, 'Ready') === 'True');
  }

  /** The reasons of the events about the object of that name, oldest first. */
  async eventsOf(name: string): Promise<readonly string[]> {
    return (await this.wholeEventsOf(name)).map(({ reason }) => reason);
  }

  /** As `eventsOf`, whole. `fields`: more that they must have, such as `type=Warning`. */
  async wholeEventsOf(name: string, ...fields: readonly string[]): Promise<readonly CoreEvent[]> {
    const selector = [`involvedObject.name=${name}`, ...fields].join();
    const path = `${IN_DEFAULT}/events?fieldSelector=${encodeURIComponent(selector)}`;
    return (await this.controlPlane.read<{ items: readonly CoreEvent[] }>(path))?.items ?? [];
  }

  /** Resolves when an event of the object of that name has the text in its message. `fields`: as for `wholeEventsOf`. */
  async told(name: string, text: string, ...fields: readonly string[]): Promise<void> {
    const messages = async () => (await this.wholeEventsOf(name, ...fields)).map(({ message }) => message);
    const isTold = async () => (await messages()).some((message) => message.includes(text));
    await this.until(`an event of ${name}: ${text}`, isTold).catch(async (error: unknown) => {
      const all = JSON.stringify(await messages());
      throw new Error(`told was: ${all}: ${errorMessage(error)}`, { cause: error });
    });
  }

  /** Deletes the ConfigMaps and Secrets that tests have made. */
  async clearObjects(): Promise<void> {
    for (const resource of ['configmaps', 'secrets'])
      await this.controlPlane.deleteAll(`${IN_DEFAULT}/${resource}`);
  }

  /** Deletes all pods of the API server. */
  async clear(): Promise<void> {
    await this.controlPlane.deleteAll(`${IN_DEFAULT}/pods`);
    const gone = async () => {
      const { items = [] } = (await this.controlPlane.read<{ items: Pod[] }>(`${IN_DEFAULT}/pods`)) ?? {};
      return items.every(
        ({ metadata }) => metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined,
      );
    };
    await this.until('all pods to be gone', gone);
  }

  async tearDown(): Promise<void> {
    try {
      if (this.controlPlane.apiServer.pid !== undefined) await this.clear();
    } finally {
      await this.bed.tearDown();
      await this.controlPlane.stop();
    }
  }
}

/** kubectl is a process of its own each time. */
const IN_DEFAULT = '/api/v1/namespaces/default';
const PAUSE_MS = 250;

export function conditionOf(
  status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] } | undefined,
  type: string,
): string | undefined {
  return status?.conditions?.find((condition) => condition.type === type)?.status;
}

/** A suite in which all tests share one cluster with one node. Where none can run it is skipped, and stderr says so. */
export function describeOnCluster(
  name: string,
  ...args:
    | [suite: (cluster: ClusterBed) => void]
    | [options: ClusterOptions, suite: (cluster: ClusterBed) => void]
): void {
  const [options, suite] = args.length === 1 ? [{}, args[0]] : args;
  const reason = whySkipped(options.controlPlane);
  if (reason !== undefined) {
    process.stderr.write(`\nSKIPPED, NOTHING PROVED: "${name}" needs a control plane, and ${reason}.\n`);
    describe.skip(name, () => suite(later<ClusterBed>('the cluster', () => undefined)));
    return;
  }
  describeWithContainerd(name, () => {
    const { controlPlane: controlPlaneOptions, flags = [], ...daemonOptions } = options;
    let cluster: ClusterBed | undefined;
    beforeAll(async () => {
      const [controlPlane, containerd] = await Promise.all([
        startOne({ ...controlPlaneOptions, nodeName: NODE_NAME }),
        startContainerd(),
      ]);
      cluster = new ClusterBed(controlPlane, new CriDaemonBed(containerd, daemonOptions), flags);
      await cluster.startDaemon();
      await cluster.nodeIsReady();
    });
    suite(later('the cluster', () => cluster));
    afterAll(() => cluster?.tearDown());
  });
}
