/** Times pods of a cluster at the API server, as a user sees them. */
import { closeSync, openSync, readSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { NEVER } from 'rxjs';
import { openApiClients } from '../../src/agent/cluster/client/open-api-clients.ts';
import type { ApiClients } from '../../src/agent/cluster/service/api-server.ts';
import { watchNode } from '../../src/agent/cluster/watches/watched-object.ts';
import { reflect } from '../../src/agent/cluster/watches/reflect.ts';
import type { Node, Pod } from '../../src/types/kubernetes.ts';
import { systemClock } from '../../src/system/timer.ts';
import { freePort } from '../../test/support/free-port.ts';
import { NODE_NAME } from '../../scripts/compare/agent.ts';
import type { ContainerdBed } from '../../test/support/containerd/containerd.ts';
import type { ControlPlane } from '../../test/support/control-plane/control-plane.ts';
import { BarePods } from './bare-pods.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import { CountingProxy } from './counting-proxy.ts';
import { ClusterAgentProcess } from './cluster-agent.ts';
import { nowMs, type ProcessMemory } from './measures.ts';
import { createSettings, deleteSettings, MOUNTED, timeUpdate } from './object-update.ts';

const TIMING = { clock: systemClock, random: Math.random };
const TIMEOUT_MS = 180_000;
const COMMAND = ['sh', '-c', 'trap "exit 0" TERM; sleep 1000000 & wait'];
const NAMESPACE = 'default';
const SETTLE_MS = 15_000;
const nothing = () => undefined;

export interface ClusterFigures {
  /** Milliseconds for each pod: from its creation to Ready, and from its deletion until it is gone. */
  readonly readyMs: readonly number[];
  readonly goneMs: readonly number[];
  /** The agent's CPU time from the first creation to the last Ready. */
  readonly startCpuSeconds: number;
  /** From the first creation until all is at rest. */
  readonly startRequests: number;
  readonly memory: ProcessMemory;
  /** From a new value of a ConfigMap until it is in the file of each pod. */
  readonly updateMs: readonly number[];
  readonly idle: { readonly cpuPercent: number; readonly requests: number; readonly bytes: number };
}

/** The flags with which the API server writes down the requests of the node. */
export function auditFlags(dir: string): readonly string[] {
  const policy = join(dir, 'audit-policy.json');
  const users = [`system:node:${NODE_NAME}`];
  const rules = [
    { level: 'Metadata', users, omitStages: ['RequestReceived', 'ResponseStarted'] },
    { level: 'None' },
  ];
  writeFileSync(policy, JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules }));
  return [`--audit-policy-file=${policy}`, `--audit-log-path=${auditLog(dir)}`];
}

const auditLog = (dir: string): string => join(dir, 'audit.log');

export interface ClusterBenchOptions {
  readonly controlPlane: ControlPlane;
  readonly containerd: ContainerdBed;
  /** Of the audit log and the agents. */
  readonly dir: string;
}

export class ClusterBench {
  readonly #options: ClusterBenchOptions;
  readonly #admin: ApiClients & { close(): void };

  constructor(options: ClusterBenchOptions) {
    this.#options = options;
    const details = options.controlPlane.details('admin');
    const observer = { answered: nothing, unauthorized: nothing, failed: nothing };
    const credentials = { current: () => Promise.resolve(details), refused: nothing, changes: NEVER };
    this.#admin = openApiClients(credentials, observer, { userAgent: 'bench' });
  }

  close(): void {
    this.#admin.close();
  }

  async measure(
    kubelet: string | undefined,
    run: string,
    pods: number,
    idleSeconds: number,
  ): Promise<ClusterFigures> {
    const { controlPlane, containerd, dir } = this.#options;
    const proxy = await new CountingProxy(Number(new URL(controlPlane.server).port)).open();
    const kubeconfig = controlPlane.writeKubeconfig(
      `bench-${run}`,
      controlPlane.ca.filesOf('node'),
      proxy.url,
    );
    const agent = new ClusterAgentProcess({
      dir: join(dir, run),
      kubelet,
      kubeconfig,
      nodeIP: controlPlane.nodeIp,
      endpoint: containerd.endpoint,
      cgroupRoot: containerd.cgroupRoot.replace(/^\/+/u, ''),
      port: await freePort(),
    });
    try {
      await Promise.race([this.#nodeIsReady(), agent.died]);
      const log = auditLog(dir);
      await createSettings(this.#admin.main, NAMESPACE);
      const [before, size] = [agent.cpuSeconds, statSync(log).size];
      const readyMs = await this.#create(run, pods);
      const startCpuSeconds = agent.cpuSeconds - before;
      // Work left from the start, such as the last events, must not count as idle.
      await delay(SETTLE_MS);
      const startRequests = linesFrom(log, size);
      const idle = await this.#idle(agent, proxy, idleSeconds);
      const { memory } = agent;
      const updateMs = await timeUpdate(this.#admin.main, NAMESPACE, agent.rootDir);
      const goneMs = await this.#delete(run, pods);
      return { readyMs, goneMs, startCpuSeconds, startRequests, memory, updateMs, idle };
    } catch (error) {
      throw new Error(`${run}: ${String(error)}\n${agent.log.slice(-4000)}`, { cause: error });
    } finally {
      await agent.stop();
      await deleteSettings(this.#admin.main, NAMESPACE).catch(nothing);
      await proxy.close();
      await this.#admin.main.delete({ resource: 'nodes', name: NODE_NAME }).catch(nothing);
      await this.#emptyRuntime();
    }
  }

  /** The kubelet leaves sandboxes of pods that are gone for a minute: the next agent would remove them while it is measured. */
  async #emptyRuntime(): Promise<void> {
    const pods = new BarePods(this.#options.containerd);
    const isEmpty = () =>
      pods.removeAll().then(
        () => true,
        // The agent was killed in the midst of a removal, and the runtime goes on with it.
        () => false,
      );
    await waitFor(isEmpty, { what: 'an empty runtime', timeoutMs: TIMEOUT_MS, pauseMs: 1000 });
    await pods.close();
  }

  async #idle(
    agent: ClusterAgentProcess,
    proxy: CountingProxy,
    seconds: number,
  ): Promise<ClusterFigures['idle']> {
    const log = auditLog(this.#options.dir);
    const [cpu, bytes, size] = [agent.cpuSeconds, proxy.bytes, statSync(log).size];
    await delay(seconds * 1000);
    const cpuPercent = ((agent.cpuSeconds - cpu) / seconds) * 100;
    const perMinute = 60 / seconds;
    const requests = linesFrom(log, size) * perMinute;
    return { cpuPercent, requests, bytes: (proxy.bytes - bytes) * perMinute };
  }

  async #nodeIsReady(): Promise<void> {
    const isReady = (node: Node | undefined) =>
      node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('the node is not ready')), TIMEOUT_MS);
      const watch = watchNode(this.#admin.main, NODE_NAME, TIMING).subscribe(({ object }) => {
        if (!isReady(object)) return;
        clearTimeout(timer);
        queueMicrotask(() => watch.unsubscribe());
        resolve();
      });
    });
  }

  async #create(run: string, pods: number): Promise<readonly number[]> {
    const { image } = this.#options.containerd;
    const spec = {
      nodeName: NODE_NAME,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 5,
      hostNetwork: true,
      volumes: MOUNTED.volumes,
      containers: [
        {
          name: 'main',
          image,
          imagePullPolicy: 'IfNotPresent',
          command: COMMAND,
          volumeMounts: MOUNTED.volumeMounts,
        },
      ],
    };
    return this.#timed(run, pods, {
      act: (name) =>
        this.#admin.main.create<Pod>(
          { resource: 'pods', namespace: NAMESPACE },
          { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: NAMESPACE, uid: '' }, spec },
        ),
      isDone: (pod) =>
        pod?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true,
    });
  }

  async #delete(run: string, pods: number): Promise<readonly number[]> {
    return this.#timed(run, pods, {
      act: (name) => this.#admin.main.delete({ resource: 'pods', namespace: NAMESPACE, name }),
      isDone: (pod) => pod === undefined,
    });
  }

  /** For each pod, how long it takes from the request until it is seen as done. */
  async #timed(run: string, pods: number, step: Step): Promise<readonly number[]> {
    const names = Array.from({ length: pods }, (_, index) => `${run}-${String(index)}`);
    const begun = new Map<string, number>();
    const taken = new Map<string, number>();
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => reject(new Error(`${taken.size} of ${pods} pods are done`)), TIMEOUT_MS);
    const watch = reflect<Pod>(
      this.#admin.main,
      { resource: 'pods', namespace: NAMESPACE },
      TIMING,
    ).subscribe(({ objects }) => {
      if (objects === undefined) return;
      const now = nowMs();
      const found = new Map(objects.map((pod) => [pod.metadata.name, pod]));
      for (const [name, at] of begun)
        if (!taken.has(name) && step.isDone(found.get(name))) taken.set(name, now - at);
      if (taken.size === pods) resolve(undefined);
    });
    try {
      await Promise.all(
        names.map(async (name) => {
          const at = nowMs();
          await step.act(name);
          begun.set(name, at);
        }),
      );
      await promise;
      return [...taken.values()];
    } finally {
      clearTimeout(timer);
      watch.unsubscribe();
    }
  }
}

interface Step {
  readonly act: (name: string) => Promise<unknown>;
  readonly isDone: (pod: Pod | undefined) => boolean;
}

function linesFrom(path: string, offset: number): number {
  const length = statSync(path).size - offset;
  const added = Buffer.alloc(length);
  const file = openSync(path, 'r');
  readSync(file, added, 0, length, offset);
  closeSync(file);
  return added.toString('utf8').split('\n').length - 1;
}
