/** Carries out the changes of a plan on one node: to its sources, its runtime and its agent. */
import { hasReason } from '../../agent/cluster/service/api-error.ts';
import { rfc3339 } from '../../agent/policies/formats/time.ts';
import type { SimulatedRuntime } from '../runtime/simulated-runtime.ts';
import type { CallUnderWay } from '../runtime/witness.ts';
import type { Pod, PodSpec } from '../../types/kubernetes.ts';
import type { SimulatedApiServer } from '../api/simulated-api-server.ts';
import type { Change, Kill } from '../plan/plan.ts';
import type { HostContext } from './host-context.ts';
import { only } from '../../agent/policies/formats/canonical-json.ts';
import { folderOf } from './simulated-disk.ts';
import type { SimulatedSources, SourceName } from './simulated-sources.ts';

type ChangeOf<Kind extends Change['kind']> = Extract<Change, { readonly kind: Kind }>;

/** What the changes need of the agent that runs. */
export interface ChangedAgent {
  kill(uid: string, kill: Kill): void;
  /** As a person on the node does it. */
  delete(uid: string, graceSeconds?: number): void;
  /** Whether it has an actor for the pod. */
  knows(uid: string): boolean;
  crash(downMs: number): void;
  restart(downMs: number): void;
}

export interface NodeChangesParts {
  readonly runtime: SimulatedRuntime;
  readonly sources: SimulatedSources;
  readonly api: SimulatedApiServer;
  readonly agent: ChangedAgent;
  /** Annotations and labels of a new pod. */
  readonly marks?: ((uid: string) => Pick<Pod['metadata'], 'annotations' | 'labels'>) | undefined;
  /** Adds requests for what the node has of its own, such as devices, to a new pod. */
  readonly equipped?: ((spec: PodSpec, uid: string, source: SourceName) => PodSpec) | undefined;
}

/** A condition that a controller of the cluster sets. */
const GATE = 'example.com/gate';
const NAMESPACE = 'default';

export class NodeChanges {
  readonly #context: HostContext;
  readonly #parts: NodeChangesParts;
  /** By pod name, the change that waits for a call. */
  readonly #ambushes = new Map<string, { readonly number: number } & ChangeOf<'ambush'>>();

  constructor(context: HostContext, parts: NodeChangesParts) {
    this.#context = context;
    this.#parts = parts;
  }

  /** False for a change that is a fault, if that fault is switched off. */
  isOn({ kind }: Change): boolean {
    const faults = this.#context.faults();
    if (kind === 'end container') return faults.has('exit');
    if (kind === 'end sandbox') return faults.has('sandbox-death');
    if (kind === 'crash agent' || kind === 'restart agent') return faults.has('agent');
    if (kind === 'stop api' || kind === 'forget versions') return faults.has('api-outage');
    return kind !== 'stop runtime' || faults.has('runtime');
  }

  /** `number`: that of the operation. New pods and versions are named after it. */
  apply(number: number, name: string, change: Change): void {
    const { sources } = this.#parts;
    const version = String(number);
    switch (change.kind) {
      case 'create':
        this.#create(name, `uid-${version}`, change);
        break;
      case 'create again':
        sources.createAgain(name);
        break;
      case 'flap':
        for (let time = 0; time < change.times; time++) {
          sources.remove(name);
          sources.createAgain(name);
        }
        break;
      case 'relabel':
        for (let time = 0; time < change.times; time++) {
          sources.change(name, (pod) => withLabel(pod, `${version}.${String(time)}`));
        }
        break;
      case 'change image':
        sources.change(name, (pod) => withImage(pod, `registry.example/app:${version}`));
        break;
      case 'resize':
        sources.change(name, (pod) => this.#resized(pod, change));
        break;
      case 'delete':
        sources.delete(name, change.graceSeconds);
        break;
      case 'remove':
        sources.remove(name);
        break;
      case 'delete mirror':
        sources.deleteMirror(name, change.graceSeconds);
        break;
      case 'set condition':
        sources.setCondition(name, { type: GATE, status: change.status });
        break;
      case 'ambush':
        this.#ambushes.set(name, { number, ...change });
        break;
      default:
        this.#applyToNode(number, name, change);
    }
  }

  /** A call has begun. A change that waits for it is applied now, while the call is in flight. */
  callBegan({ uid, name: callName }: CallUnderWay): void {
    const { pods, clock, tell } = this.#context;
    const name = pods.nameOf(uid) ?? '';
    const { number, call, change } = this.#ambushes.get(name) ?? {};
    if (call !== callName || change === undefined || number === undefined || !this.isOn(change)) return;
    this.#ambushes.delete(name);
    clock.setTimeout(() => {
      tell(`#${String(number)} comes at ${call}`, { name });
      this.apply(number, name, change);
    }, 0);
  }

  /** Changes that still wait for a call are dropped. */
  dropAmbushes(): void {
    this.#ambushes.clear();
  }

  /** Changes to the runtime, the agent and the API server. All other changes are made to the sources. */
  #applyToNode(number: number, name: string, change: Change): void {
    const { runtime, agent, api } = this.#parts;
    switch (change.kind) {
      case 'kill':
        this.#kill(name, change);
        break;
      case 'delete by hand': {
        const uid = this.#parts.sources.get(name)?.metadata.uid;
        if (uid !== undefined && this.#context.pods.isOfManifest(uid)) agent.delete(uid, change.graceSeconds);
        break;
      }
      case 'end container':
        this.#endContainer(name, change.code);
        break;
      case 'end sandbox':
        for (const { id, ready } of this.#sandboxesOf(name)) if (ready) runtime.killSandbox(id);
        break;
      case 'crash agent':
        agent.crash(change.downMs);
        break;
      case 'restart agent':
        agent.restart(change.downMs);
        break;
      case 'stop runtime':
        runtime.goDown();
        this.#context.clock.setTimeout(() => runtime.comeUp(), change.downMs);
        break;
      case 'stop api': {
        const { silent, forgetful, downMs } = change;
        api.goDownFor(downMs, { how: silent ? 'silent' : 'refusing', forgetful });
        break;
      }
      case 'forget versions':
        api.store.compact();
        break;
      case 'cordon':
        this.#cordon(change.unschedulable);
        break;
      case 'leave remains':
        this.#leaveRemains(name === '' ? `uid-lost-${String(number)}` : this.#goneUID(name), change.mounted);
        break;
      default:
        this.#applyToContents(number, change);
    }
  }

  #applyToContents(number: number, change: Change): void {
    if (change.kind !== 'set object' && change.kind !== 'delete object') return;
    const { resource, name } = change;
    const { store, operations } = this.#parts.api;
    const target = { resource, namespace: NAMESPACE, name };
    const before = store.get(resource, target);
    if (change.kind === 'delete object') {
      if (before !== undefined) operations.delete(target);
      return;
    }
    const { immutable, keys } = change;
    const data = Object.fromEntries(keys.map((key) => [key, contentOf(change, key, number)]));
    const object = { metadata: { name, namespace: NAMESPACE }, data, ...(immutable && { immutable }) };
    try {
      if (before === undefined) operations.create({ resource, namespace: NAMESPACE }, object);
      else operations.update(target, object);
    } catch (error) {
      // It is immutable.
      if (!hasReason(error, 'Invalid')) throw error;
    }
  }

  #cordon(unschedulable: boolean): void {
    const { api } = this.#parts;
    const target = { resource: 'nodes', name: api.nodeName } as const;
    if (api.store.get('nodes', target) === undefined) return;
    const labels = { 'example.com/cordoned': String(unschedulable) };
    api.operations.patch(target, { metadata: { labels }, spec: { unschedulable } });
  }

  #leaveRemains(uid: string | undefined, mounted: boolean): void {
    const { disk, clock } = this.#context;
    if (uid === undefined) return;
    const folder = folderOf(disk, uid);
    folder.mounted = mounted;
    folder.mountedAt = clock.now();
  }

  /** Of the last pod of that name, if nothing of it is left. */
  #goneUID(name: string): string | undefined {
    const { sources, runtime, agent } = this.#parts;
    const { disk } = this.#context;
    const uid = sources.lastUID(name);
    if (uid === undefined || agent.knows(uid) || disk.has(uid) || runtime.uids().includes(uid))
      return undefined;
    return sources.pods.some(({ metadata }) => metadata.uid === uid) ? undefined : uid;
  }

  #create(name: string, uid: string, { source, spec: planned }: ChangeOf<'create'>): void {
    const { pods, clock } = this.#context;
    const { sources, equipped, marks } = this.#parts;
    const spec = equipped?.(planned, uid, source) ?? planned;
    pods.add({ uid, name, source, spec });
    const creationTimestamp = rfc3339(clock.now());
    const metadata = { name, namespace: NAMESPACE, uid, creationTimestamp, ...marks?.(uid) };
    sources.create(source, { metadata, spec });
  }

  #resized(pod: Pod, change: ChangeOf<'resize'>): Pod {
    const resized = withResources(pod, change);
    this.#context.pods.resized(pod.metadata.uid, resized.spec);
    return resized;
  }

  #kill(name: string, { kills, everyMs }: ChangeOf<'kill'>): void {
    const { sources, agent } = this.#parts;
    const uid = sources.get(name)?.metadata.uid;
    if (uid === undefined) return;
    kills.forEach((kill, index) => {
      if (everyMs === 0) agent.kill(uid, kill);
      else this.#context.clock.setTimeout(() => agent.kill(uid, kill), index * everyMs);
    });
  }

  #endContainer(name: string, code: number): void {
    const containers = this.#sandboxesOf(name).flatMap((sandbox) => sandbox.containers);
    const running = containers.find(({ state }) => state === 'CONTAINER_RUNNING');
    if (running !== undefined) this.#parts.runtime.killContainer(running.id, code);
  }

  #sandboxesOf(name: string) {
    const { sources, runtime } = this.#parts;
    const uid = sources.get(name)?.metadata.uid;
    return uid === undefined ? [] : [...runtime.sandboxesOf(uid)];
  }
}

/** The contents name their object and change. Those of Secrets are base64. */
function contentOf({ resource, name }: ChangeOf<'set object'>, key: string, number: number): string {
  const text = `${name}/${key}/${String(number)}`;
  return resource === 'secrets' ? btoa(text) : text;
}

function withLabel(pod: Pod, version: string): Pod {
  return { ...pod, metadata: { ...pod.metadata, labels: { version } } };
}

function withImage(pod: Pod, image: string): Pod {
  const containers = pod.spec.containers.map((container) => ({ ...container, image }));
  return { ...pod, spec: { ...pod.spec, containers } };
}

/** Only amounts that the first container has already change: a pod keeps its QoS class. */
function withResources(pod: Pod, { cpuMilli, memoryMiB }: ChangeOf<'resize'>): Pod {
  const amounts = { cpu: `${String(cpuMilli)}m`, memory: `${String(memoryMiB)}Mi` };
  const listed = (list: Readonly<Record<string, string>> | undefined) =>
    list && { ...list, ...only(amounts, Object.keys(list) as (keyof typeof amounts)[]) };
  const [first, ...others] = pod.spec.containers;
  if (first?.resources === undefined) return pod;
  const { requests, limits } = first.resources;
  const resources = { ...first.resources, requests: listed(requests), limits: listed(limits) };
  return { ...pod, spec: { ...pod.spec, containers: [{ ...first, resources }, ...others] } };
}
