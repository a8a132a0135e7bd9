/**
 * What resizes and devices cost, on containerd. (1) The time from the watch event of a resize of a pod until its cgroup and that of its
 * container have the new CPU and memory, beside the bare call UpdateContainerResources with the same values until they are there. (2) The CPU
 * time of an agent at rest with 1,000 devices of 20 plugins, beside one without. Needs root and containerd; the API server is the double of the
 * tests. `npm run bench:node-resources -- [--resizes 20] [--rounds 2] [--seconds 30] [--quick]`. `--quick`: 6 resizes of each kind, one round of 15 s.
 */
import { existsSync, readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { NEVER } from 'rxjs';
import { openApiClients } from '../src/agent/cluster/client/open-api-clients.ts';
import { reflect } from '../src/agent/cluster/watches/reflect.ts';
import { systemClock } from '../src/system/timer.ts';
import type { Pod, ResourceRequirements } from '../src/types/kubernetes.ts';
import { type ControlPlane, startControlPlane } from '../test/support/control-plane/control-plane.ts';
import { type CriDaemonBed, startCriBed } from '../test/support/cri-daemon.ts';
import { NODE_NAME } from '../test/support/daemon.ts';
import { healthy, TestDevicePlugin } from '../test/support/test-device-plugin.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { fineCpuMs, median, nowMs } from './support/measures.ts';
import { benchOptions } from './support/options.ts';
import { type Compared, printTable } from './support/table.ts';

const WANTED_MS = 50;
const [PLUGINS, DEVICES_OF_EACH] = [20, 50];
const SETTLE_MS = 8_000;
const POLL_MS = 1;
/** Between resizes, so that one does not disturb the next. */
const PAUSE_MS = 300;
const MIB = 2 ** 20;
const PODS = '/api/v1/namespaces/default/pods';
const CGROUPS = '/sys/fs/cgroup';
const PERIOD_US = 100_000;

const { resizes, rounds, seconds } = benchOptions(
  { resizes: { usual: 20, quick: 6 }, rounds: { usual: 2, quick: 1 }, seconds: { usual: 30, quick: 15 } },
  {},
);

interface Size {
  readonly milliCpu: number;
  readonly mebibytes: number;
}

const SMALL: Size = { milliCpu: 100, mebibytes: 64 };
const KINDS = {
  CPU: { milliCpu: 200, mebibytes: 64 },
  'CPU and memory': { milliCpu: 200, mebibytes: 96 },
} satisfies Record<string, Size>;
type Kind = keyof typeof KINDS;

function resourcesOf({ milliCpu, mebibytes }: Size): ResourceRequirements {
  return {
    requests: { cpu: `${milliCpu}m`, memory: '32Mi' },
    limits: { cpu: `${milliCpu}m`, memory: `${mebibytes}Mi` },
  };
}

/** Whether the groups have the limits. */
function has(groups: readonly string[], { milliCpu, mebibytes }: Size): boolean {
  const isUnified = existsSync(join(CGROUPS, 'cgroup.controllers'));
  const value = (group: string, own: string, controller: string, ofV1: string) =>
    Number.parseInt(
      readFileSync(isUnified ? join(CGROUPS, group, own) : join(CGROUPS, controller, group, ofV1), 'latin1'),
    );
  return groups.every(
    (group) =>
      value(group, 'cpu.max', 'cpu', 'cpu.cfs_quota_us') === (milliCpu * PERIOD_US) / 1000 &&
      value(group, 'memory.max', 'memory', 'memory.limit_in_bytes') === mebibytes * MIB,
  );
}

/** Resolves with the time at which it was so, in Unix milliseconds. */
async function untilThere(groups: readonly string[], size: Size): Promise<number> {
  while (!has(groups, size)) await delay(POLL_MS);
  return nowMs();
}

/** Emits pods of the API server as its watch delivers them. */
function watchPods(controlPlane: ControlPlane, tell: (pod: Pod) => void): () => void {
  const nothing = () => undefined;
  const details = controlPlane.details('admin');
  const credentials = { current: () => Promise.resolve(details), refused: nothing, changes: NEVER };
  const observer = { answered: nothing, unauthorized: nothing, failed: nothing };
  const clients = openApiClients(credentials, observer, { userAgent: 'bench' });
  const collection = { resource: 'pods', namespace: 'default' } as const;
  const timing = { clock: systemClock, random: Math.random };
  const watch = reflect<Pod>(clients.main, collection, timing).subscribe(({ objects = [] }) => {
    for (const pod of objects) tell(pod);
  });
  return () => {
    watch.unsubscribe();
    clients.close();
  };
}

interface ResizeTimes {
  /** From the watch event until the cgroups of pod and container have the new values. */
  readonly agentMs: number[];
  readonly bareMs: number[];
}

class ResizedPod {
  readonly #bed: CriDaemonBed;
  readonly #controlPlane: ControlPlane;
  /** When the watch first delivered the pod with that CPU limit. */
  readonly #toldMs = new Map<string, number>();
  #pod: Pod | undefined;
  readonly close: () => void;

  constructor(bed: CriDaemonBed, controlPlane: ControlPlane) {
    this.#bed = bed;
    this.#controlPlane = controlPlane;
    this.close = watchPods(controlPlane, (pod) => {
      this.#pod = pod;
      const cpu = pod.spec.containers[0]?.resources?.limits?.cpu ?? '';
      if (!this.#toldMs.has(cpu)) this.#toldMs.set(cpu, nowMs());
    });
  }

  async start(): Promise<void> {
    const { image } = this.#bed.containerd;
    const main = {
      ...this.#bed.server(),
      image,
      imagePullPolicy: 'IfNotPresent',
      resources: resourcesOf(SMALL),
    };
    const spec = { nodeName: NODE_NAME, automountServiceAccountToken: false, containers: [main] };
    await this.#controlPlane.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'bench' }, spec });
    await this.#isReady();
  }

  /** Waits until nothing of a resize is left to do. */
  async #isReady(): Promise<Pod> {
    const isReady = () => {
      const { conditions = [] } = this.#pod?.status ?? {};
      const isAtRest = conditions.every(({ type }) => !type.startsWith('PodResize'));
      return (
        isAtRest && conditions.some(({ type, status }) => type === 'Ready' && status === 'True') && this.#pod
      );
    };
    const pod = await waitFor(isReady, { what: 'the pod to be ready' });
    await delay(PAUSE_MS);
    return pod;
  }

  /** Resizes by the agent, from a change at the API server. */
  async resize(size: Size): Promise<number> {
    const { own, ofPod } = await this.#groups();
    this.#toldMs.clear();
    const there = untilThere([own, ofPod], size);
    const containers = [{ name: 'main', resources: resourcesOf(size) }];
    await this.#controlPlane.patch(`${PODS}/bench/resize`, { spec: { containers } });
    const atMs = await there;
    const toldMs = await waitFor(() => this.#toldMs.get(`${size.milliCpu}m`), { what: 'the watch event' });
    return atMs - toldMs;
  }

  /** Resizes by a call of the runtime alone. */
  async update(size: Size): Promise<number> {
    const { id, own } = await this.#groups();
    const beganMs = nowMs();
    const there = untilThere([own], size);
    await this.#bed.runtime.resizing?.updateContainerResources(id, {
      cpuPeriod: PERIOD_US,
      cpuQuota: (size.milliCpu * PERIOD_US) / 1000,
      cpuShares: Math.floor((size.milliCpu * 1024) / 1000),
      memoryLimitInBytes: size.mebibytes * MIB,
      oomScoreAdj: 0,
    });
    return (await there) - beganMs;
  }

  async #groups(): Promise<{ readonly id: string; readonly own: string; readonly ofPod: string }> {
    const pod = await this.#isReady();
    const id = this.#bed.idOf(pod);
    const { cgroupRoot } = this.#bed.containerd;
    const ofPod = join(cgroupRoot, 'kubepods', 'burstable', `pod${pod.metadata.uid}`);
    return { id, own: join(ofPod, id), ofPod };
  }
}

/** By turns, so that other work of the machine affects both. The bare calls come while the pod has its larger size. */
async function timeResizes(): Promise<Record<Kind, ResizeTimes>> {
  const times: Record<Kind, ResizeTimes> = {
    CPU: { agentMs: [], bareMs: [] },
    'CPU and memory': { agentMs: [], bareMs: [] },
  };
  const [controlPlane, bed] = await Promise.all([
    startControlPlane({ programs: 'double', nodeName: NODE_NAME }),
    startCriBed(),
  ]);
  const { nodeKubeconfig, nodeIp, serverFlags } = controlPlane;
  await bed.start('--kubeconfig', nodeKubeconfig, '--node-ip', nodeIp, ...serverFlags);
  const pod = new ResizedPod(bed, controlPlane);
  try {
    await pod.start();
    for (let count = 0; count < resizes; count += 2)
      for (const kind of ['CPU', 'CPU and memory'] as const) {
        const { agentMs, bareMs } = times[kind];
        agentMs.push(await pod.resize(KINDS[kind]));
        bareMs.push(await pod.update(SMALL), await pod.update(KINDS[kind]));
        agentMs.push(await pod.resize(SMALL));
      }
  } finally {
    pod.close();
    await controlPlane.deleteAll(PODS);
    await bed.tearDown();
    await controlPlane.stop();
  }
  return times;
}

/** Milliseconds of CPU time in a minute at rest. */
async function restingMs(bed: CriDaemonBed, plugins: number): Promise<number> {
  const daemon = await bed.start();
  const served = Array.from({ length: plugins }, (_, plugin) => {
    const ids = Array.from({ length: DEVICES_OF_EACH }, (_, device) => `device-${device}`);
    const folder = join(bed.rootDir, 'device-plugins');
    return new TestDevicePlugin({ folder, resource: `example.com/kind-${plugin}`, devices: healthy(...ids) });
  });
  try {
    await Promise.all(served.map((plugin) => plugin.start()));
    await delay(SETTLE_MS);
    const before = fineCpuMs(daemon.pid);
    await delay(seconds * 1000);
    return ((fineCpuMs(daemon.pid) - before) / seconds) * 60;
  } finally {
    for (const plugin of served) plugin.kill();
    await daemon.end();
  }
}

async function timeRest(): Promise<{
  readonly without: readonly number[];
  readonly withDevices: readonly number[];
}> {
  const [without, withDevices]: [number[], number[]] = [[], []];
  const bed = await startCriBed();
  try {
    for (let round = 0; round < rounds; round++) {
      without.push(await restingMs(bed, 0));
      withDevices.push(await restingMs(bed, PLUGINS));
    }
  } finally {
    await bed.tearDown();
  }
  return { without, withDevices };
}

function rowsOf(kind: Kind): Record<string, Compared> {
  const { agentMs, bareMs } = times[kind];
  const beside = 'UpdateContainerResources';
  return {
    [`resize of ${kind}, median (ms)`]: { figure: median(agentMs), beside, itsFigure: median(bareMs) },
    [`resize of ${kind}, slowest (ms)`]: {
      figure: Math.max(...agentMs),
      beside,
      itsFigure: Math.max(...bareMs),
    },
  };
}

process.stdout.write(`load average before: ${(loadavg()[0] ?? 0).toFixed(2)}\n`);
const times = await timeResizes();
const { without, withDevices } = await timeRest();
process.stdout.write(`${resizes} resizes of each kind, from the watch event; wanted: ${WANTED_MS} ms\n`);
printTable({
  ...rowsOf('CPU'),
  ...rowsOf('CPU and memory'),
  [`CPU at rest with ${PLUGINS * DEVICES_OF_EACH} devices (ms a minute)`]: {
    figure: median(withDevices),
    beside: 'an agent without devices',
    itsFigure: median(without),
  },
});
process.exit(0);
