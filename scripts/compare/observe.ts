/** Lets one agent run the manifests, and observes what it does. */
import { systemClock } from '../../src/system/timer.ts';
import { testContext } from '../../test/support/test-context.ts';
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createCriRuntime } from '../../src/agent/runtime/cri/cri-runtime.ts';
import type { RuntimeService } from '../../src/agent/runtime/service/runtime-service.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import type { ContainerdBed } from '../../test/support/containerd/containerd.ts';
import { makeCgroup } from '../../test/support/containerd/cgroups.ts';
import type { Agent, AgentOptions } from './agent.ts';
import { countsOf, podCalls, type PodCall, requests, sequence, splitAt } from './calls.ts';
import type { Observation, Observed } from './differences.ts';
import { eventLines } from './events.ts';
import type { Manifest } from './manifests.ts';
import { type Names, normalise, withoutEmpty } from './normalise.ts';
import {
  cgroupSettings,
  containerCpusets,
  filesBelow,
  logsBelow,
  managerStates,
  podCgroup,
} from './places.ts';
import { RecordingProxy } from './recording-proxy.ts';
import type { Calls } from './report.ts';
import { Settling } from './settling.ts';

export interface ObserveOptions {
  readonly start: (options: AgentOptions) => Promise<Agent>;
  readonly name: Agent['name'];
  readonly bed: ContainerdBed;
  readonly manifests: readonly Manifest[];
  readonly config?: AgentOptions['config'];
  readonly idleSeconds: number;
  /** How long to wait for pods to come to rest. */
  readonly settleMs: number;
  /** Called with the agent's log at the end. */
  readonly keepLog?: (log: string) => void;
  readonly progress: (text: string) => void;
}

export interface AgentObservation {
  readonly observation: Observation;
  readonly idleCalls: Calls;
  readonly unsettled: readonly string[];
}

const POLL_MS = 500;
/** How long to wait for pods to end. */
const END_MS = 120_000;
const REQUEST_TIMEOUT_MS = 30_000;
const REMOVALS_AT_ONCE = 8;

export async function observe(options: ObserveOptions): Promise<AgentObservation> {
  const { bed, name } = options;
  const dir = join(bed.dir, `of-${name}`);
  const cgroupRoot = join(bed.cgroupRoot, name);
  makeCgroup(cgroupRoot);
  mkdirSync(dir);
  const manifests = layOut(options);
  const proxy = await new RecordingProxy(join(dir, 'cri.sock'), bed.endpoint).start();
  const runtime = clientOf(bed);
  try {
    const endpoint = proxy.endpoint;
    const { config = {} } = options;
    const agent = await options.start({ dir, cgroupRoot: cgroupRoot.slice(1), endpoint, manifests, config });
    try {
      return await new Observer(options, agent, proxy, runtime).observe(manifests);
    } finally {
      await agent.stop();
      options.keepLog?.(agent.log());
    }
  } finally {
    await removeAll(runtime);
    await runtime.close();
    proxy.stop();
  }
}

/** Copies the manifests to the same folder for both agents: its path goes into the pods' UIDs. */
function layOut({ bed, manifests }: ObserveOptions): string {
  const folder = join(bed.dir, 'manifests');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const { file } of manifests) copyFileSync(file, join(folder, basename(file)));
  return folder;
}

function clientOf({ endpoint }: ContainerdBed): RuntimeService {
  return createCriRuntime(testContext({ clock: systemClock }), {
    endpoint,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
  });
}

/** A sandbox that cannot be removed ends with the containerd. */
async function removeAll(runtime: RuntimeService): Promise<void> {
  const queue = (await runtime.listPodSandbox()).values();
  const worker = async () => {
    for (const { id } of queue) {
      await runtime.stopPodSandbox(id).catch(() => undefined);
      await runtime.removePodSandbox(id).catch(() => undefined);
    }
  };
  await Promise.all(Array.from({ length: REMOVALS_AT_ONCE }, worker));
}

class Observer {
  readonly #options: ObserveOptions;
  readonly #agent: Agent;
  readonly #proxy: RecordingProxy;
  readonly #runtime: RuntimeService;
  readonly #names: Names;

  constructor(options: ObserveOptions, agent: Agent, proxy: RecordingProxy, runtime: RuntimeService) {
    this.#options = options;
    this.#agent = agent;
    this.#proxy = proxy;
    this.#runtime = runtime;
    const { rootDir, podLogsDir, cgroupRoot } = agent.folders;
    this.#names = [
      [rootDir, '<root>'],
      [podLogsDir, '<logs>'],
      [join(options.bed.dir, 'manifests'), '<manifests>'],
      [`/${cgroupRoot}`, '/<cgroup-root>'],
    ];
  }

  async observe(manifests: string): Promise<AgentObservation> {
    const { progress, name, idleSeconds } = this.#options;
    const settling = await this.#settle();
    const unsettled = settling.unsettled(performance.now());
    progress(`${name}: at rest, but for ${unsettled.length}`);
    const pods = settling.pods();
    const places = this.#places(pods);
    const node = { cgroups: this.#nodeCgroups() };
    const managers = { state: this.#managers(pods) };
    const started = this.#proxy.calls.length;
    await delay(idleSeconds * 1000);
    const idleCalls = { seconds: idleSeconds, counts: countsOf(this.#proxy.calls.slice(started)) };
    const startMs = this.#proxy.now();
    const told = this.#agent.events().length;
    rmSync(manifests, { recursive: true });
    mkdirSync(manifests);
    await this.#ended();
    progress(`${name}: pods have ended`);
    const observation = this.#observation(pods, places, { startMs, told });
    return { observation: { ...observation, node, managers }, idleCalls, unsettled };
  }

  async #settle(): Promise<Settling> {
    const settling = new Settling();
    const begunMs = performance.now();
    for (;;) {
      const pods = await this.#agent.pods();
      if (this.#agent.ending !== undefined)
        throw new Error(`${this.#agent.name} ended: ${this.#agent.ending}`);
      const nowMs = performance.now();
      if (pods !== undefined) settling.see(pods, nowMs);
      const takesLong = nowMs - begunMs > this.#options.settleMs;
      const isEmpty = settling.pods().size === 0 && nowMs - begunMs < FIRST_PODS_MS;
      const rests = !isEmpty && settling.unsettled(nowMs).length === 0;
      if (rests || takesLong) return settling;
      await delay(POLL_MS);
    }
  }

  /** Resolves when nothing runs any more. */
  async #ended(): Promise<void> {
    const begunMs = performance.now();
    for (;;) {
      const [sandboxes, containers] = await Promise.all([
        this.#runtime.listPodSandbox({ state: 'SANDBOX_READY' }),
        this.#runtime.listContainers({ state: 'CONTAINER_RUNNING' }),
      ]);
      if (sandboxes.length + containers.length === 0 || performance.now() - begunMs > END_MS) return;
      await delay(POLL_MS);
    }
  }

  /** Facts that are read while pods run, by full name. */
  #places(pods: ReadonlyMap<string, Pod>): ReadonlyMap<string, Observed> {
    const { rootDir, podLogsDir, cgroupRoot } = this.#agent.folders;
    return new Map(
      [...pods].map(([fullName, { metadata, status }]) => {
        const { namespace, name, uid } = metadata;
        const names = this.#namesOf(status?.podIP);
        const cgroup = podCgroup(cgroupRoot, uid);
        const logFolder = join(podLogsDir, `${namespace}_${name}_${uid}`);
        const logs = logsBelow(logFolder, names, restartingContainers(status));
        const files = filesBelow(join(rootDir, 'pods', uid), names);
        const cpusets = cgroup && containerCpusets(cgroup, status);
        const cgroups = cgroup && {
          path: this.#normalise(`/${cgroup}`.replace(uid, '<uid>')),
          ...cgroupSettings(cgroup),
        };
        return [fullName, { files, logs, cgroups, cpusets }];
      }),
    );
  }

  #namesOf(podIP = ''): Names {
    return podIP.startsWith('10.') ? [...this.#names, [podIP, '<pod-ip>']] : this.#names;
  }

  #normalise(value: unknown): unknown {
    return normalise(value, this.#names);
  }

  #observation(
    pods: ReadonlyMap<string, Pod>,
    places: ReadonlyMap<string, Observed>,
    { startMs, told }: { readonly startMs: number; readonly told: number },
  ): Observation {
    const calls = Map.groupBy(podCalls(this.#proxy.calls), ({ pod }) => pod);
    const observedEvents = this.#agent.events().map((event, index) => ({ ...event, isAtEnd: index >= told }));
    const events = Map.groupBy(observedEvents, ({ pod }) => pod);
    const byManifest = this.#options.manifests.flatMap(({ name, pods: fullNames }) =>
      fullNames.map((fullName, index): [string, Observed] => {
        const pod = pods.get(fullName);
        const names = this.#namesOf(pod?.status?.podIP);
        const restarting = restartingContainers(pod?.status);
        const observed = {
          accepted: pod !== undefined,
          ...whatItDid(calls.get(fullName) ?? [], startMs, restarting, names),
          ...(pod && { pod: podAsServed(pod, names), status: withoutEmpty(normalise(statusOf(pod), names)) }),
          ...places.get(fullName),
          refusal: refusalOf(pod?.status),
          events: eventLines(events.get(fullName) ?? [], restarting, names),
        };
        return [fullNames.length === 1 ? name : `${name}/${index}`, observed];
      }),
    );
    return Object.fromEntries(byManifest);
  }

  #managers(pods: ReadonlyMap<string, Pod>): Observed {
    const uids = [...pods].map(([fullName, { metadata }]) => [metadata.uid, fullName] as const);
    return normalise(managerStates(this.#agent.folders.rootDir), uids) as Observed;
  }

  #nodeCgroups(): Observed {
    const kubepods = join(this.#agent.folders.cgroupRoot, 'kubepods');
    return Object.fromEntries(
      ['', 'burstable', 'besteffort'].map((name) => [
        join('kubepods', name),
        cgroupSettings(join(kubepods, name)),
      ]),
    );
  }
}

/** How long to wait for the first pods, which agents read after they have begun to serve `/pods`. */
const FIRST_PODS_MS = 30_000;

function whatItDid(
  calls: readonly PodCall[],
  endsFromMs: number,
  restarting: ReadonlySet<string>,
  names: Names,
): Observed {
  const { starts, ends } = splitAt(calls, endsFromMs, restarting);
  const { sandboxes, containers, pulls } = requests(calls);
  const said = {
    sandbox: sandboxes,
    container: containers,
    pulls,
    calls: sequence(starts),
    ends: sequence(ends),
  };
  return normalise(said, names) as Observed;
}

/** The names of the containers that wait for their next restart. */
function restartingContainers(status: Pod['status']): ReadonlySet<string> {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const waiting = statuses.filter(({ state }) => state?.waiting?.reason === 'CrashLoopBackOff');
  return new Set(waiting.map(({ name }) => name));
}

const statusOf = ({ status }: Pod): object => {
  const conditions = status?.conditions?.toSorted((a, b) => a.type.localeCompare(b.type));
  return { ...status, ...(conditions && { conditions }) };
};

/**
 * Why a pod does not run. A static pod that is refused waits, for the same reason. The free amount in its message depends on the order of the pods,
 * which is random in the kubelet.
 */
function refusalOf({ reason, message = '' }: NonNullable<Pod['status']> = {}): string | undefined {
  const text = message.replace(/^Pod was rejected: /, '').replace(/available=\d+/, 'available=<free>');
  return reason && `${reason}: ${text}`;
}

function podAsServed({ metadata, spec }: Pod, names: Names): unknown {
  return withoutEmpty(normalise({ metadata, spec }, names));
}
