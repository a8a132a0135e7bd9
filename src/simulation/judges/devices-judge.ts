/**
 * Checks that each container has the devices that it requests, and no other container has them. It knows the lists that plugins
 * have sent, the agent's calls to them, and the configurations of running containers. It outlives the agents of its node.
 */
import { resourceAmount } from '../../agent/policies/admission/used-resources.ts';
import { parseQuantity, quantityValue } from '../../agent/policies/formats/quantity.ts';
import { podRequest } from '../../agent/policies/pod/resources.ts';
import type { ListedDevice } from '../../agent/policies/devices/device-list.ts';
import type { ContainerConfig, KeyValue } from '../../types/cri.ts';
import type { Container, Pod, PodStatus } from '../../types/kubernetes.ts';
import { DEVICES_VARIABLE, type DevicesWitness } from '../devices/simulated-device-connection.ts';
import type { ContainerTruth, SandboxTruth } from '../runtime/witness.ts';
import { Lasting } from './lasting.ts';

export interface DevicesJudgeOptions {
  readonly resources: readonly string[];
  /** Unix ms. */
  readonly now: () => number;
  /** As the disk has it. */
  readonly checkpoint: () => string | undefined;
  readonly runtime: () => { uids(): Iterable<string>; sandboxesOf(uid: string): Iterable<SandboxTruth> };
  /** A plugin is asked for devices. */
  readonly onAsked: () => void;
  readonly violated: (uid: string | undefined, what: string) => void;
}

interface ListedDevices {
  /** The IDs that can be handed out. Undefined while no plugin lists the resource. */
  readonly healthy: ReadonlySet<string> | undefined;
  readonly all: number;
  /** Unix ms. Infinity: the agent has never heard of it. */
  readonly knownSince: number;
  /** Unix ms; undefined while a plugin lists its devices. */
  readonly silentSince: number | undefined;
}

/** Of the checkpoint. */
interface Entry {
  readonly PodUID: string;
  readonly ContainerName: string;
  readonly ResourceName: string;
  readonly DeviceIDs: Readonly<Record<string, readonly string[]>>;
}

const UNKNOWN: ListedDevices = { healthy: undefined, all: 0, knownSince: Infinity, silentSince: undefined };
/** For so long the node still reports the devices of a plugin that is gone. */
const GRACE_MS = 5 * 60_000;
const ID_MAX_LENGTH = 1024;
/** Sooner than a pod is synced anyway. */
const REPORTED_WITHIN_MS = 20_000;

export class DevicesJudge implements DevicesWitness {
  readonly #options: DevicesJudgeOptions;
  readonly #listed = new Map<string, ListedDevices>();
  /** When a call of a plugin has failed last. */
  readonly #failedAt = new Map<string, number>();
  /** Ids of containers of which the agent cannot know: no agent waited for their start any more, or the checkpoint was damaged since. */
  readonly #unknown = new Set<string>();
  /** UIDs of pods whose status has another health of their devices than their plugins. */
  readonly #unreported = new Lasting<string>(REPORTED_WITHIN_MS);

  constructor(options: DevicesJudgeOptions) {
    this.#options = options;
  }

  agentStarts(): void {
    this.#listed.clear();
    this.#failedAt.clear();
    const { resources, isDamaged } = contentOf(this.#options.checkpoint());
    if (isDamaged) for (const { id } of this.#running()) this.#unknown.add(id);
    for (const resource of resources) {
      const now = this.#options.now();
      this.#listed.set(resource, { ...UNKNOWN, knownSince: now, silentSince: now });
    }
  }

  listed(resource: string, listed: readonly ListedDevice[]): void {
    const health = new Map(
      listed
        .filter(({ ID }) => ID !== '' && ID.length <= ID_MAX_LENGTH)
        .map((device) => [device.ID, device.health]),
    );
    const healthy = new Set([...health.keys()].filter((id) => health.get(id) === 'Healthy'));
    const knownSince = Math.min(this.#of(resource).knownSince, this.#options.now());
    this.#listed.set(resource, { healthy, all: health.size, knownSince, silentSince: undefined });
  }

  silent(resource: string): void {
    const last = this.#of(resource);
    if (last.healthy === undefined) return;
    this.#listed.set(resource, { ...last, healthy: undefined, silentSince: this.#options.now() });
  }

  asked(resource: string, ids: readonly string[]): void {
    this.#options.onAsked();
    const { healthy } = this.#of(resource);
    if (new Set(ids).size !== ids.length)
      this.#options.violated(undefined, `a device of ${resource} is asked for twice at once: ${ids.join()}`);
    const bad = ids.filter((id) => healthy?.has(id) !== true);
    if (bad.length > 0)
      this.#options.violated(
        undefined,
        `${bad.join()} is handed out, and is no healthy device of ${resource}`,
      );
    for (const container of this.#running())
      for (const id of this.#unknown.has(container.id) ? [] : idsOf(container.envs, resource))
        if (ids.includes(id)) this.#options.violated(container.uid, `${id} is handed out, and it has it`);
  }

  failed(resource: string): void {
    this.#failedAt.set(resource, this.#options.now());
  }

  takenWrongly(resource: string): void {
    this.#options.violated(undefined, `a plugin of ${resource} is registered that says what makes no sense`);
  }

  letGo(resource: string): void {
    const what = `the plugin of ${resource} serves, and is let go of before another one has taken its place`;
    this.#options.violated(undefined, what);
  }

  /** The agent has made the configuration of a container. */
  configured(
    { metadata: { uid }, spec }: Pod,
    { metadata: { name }, envs }: Pick<ContainerConfig, 'metadata' | 'envs'>,
  ): void {
    const container = [...(spec.initContainers ?? []), ...spec.containers].find((one) => one.name === name);
    for (const resource of this.#options.resources) {
      const ids = idsOf(envs, resource);
      const wanted = countOf(container, resource);
      if (ids.length === 0 && !this.#isKnown(resource)) continue;
      if (ids.length !== wanted)
        this.#options.violated(
          uid,
          `${name} gets ${String(ids.length)} of ${String(wanted)} devices of ${resource}`,
        );
    }
  }

  /** `isAwaited`: whether the agent that asked for the start still waits for it. */
  started(container: ContainerTruth, isAwaited: boolean): void {
    const { id, uid, envs, metadata } = container;
    if (!isAwaited) {
      this.#unknown.add(id);
      return;
    }
    const { entries } = contentOf(this.#options.checkpoint());
    const own = entries.filter(
      ({ PodUID, ContainerName }) => PodUID === uid && ContainerName === metadata.name,
    );
    for (const resource of this.#options.resources) {
      const ids = new Set(idsOf(envs, resource));
      const written = writtenIds(own, resource);
      if (written.length !== ids.size || written.some((id) => !ids.has(id)))
        this.#options.violated(
          uid,
          `${metadata.name} starts with devices ${[...ids].join()} of ${resource}, and is recorded with ${written.join()}`,
        );
      for (const other of this.#running()) {
        if (other.id === id || this.#unknown.has(other.id)) continue;
        const shared = idsOf(other.envs, resource).filter((one) => ids.has(one));
        if (shared.length > 0)
          this.#options.violated(
            uid,
            `${metadata.name} runs with ${shared.join()}, which ${other.metadata.name} of ${other.uid} has`,
          );
      }
    }
  }

  /**
   * The resources of which there are not enough healthy devices for the pod, if all the others have what they ask for. A pod that this agent does not
   * know yet, and may never know, holds what the checkpoint has for it.
   */
  lacking(pod: Pod, others: readonly Pod[]): readonly string[] {
    const counted = new Set([pod, ...others].map(({ metadata }) => metadata.uid));
    const { entries } = contentOf(this.#options.checkpoint());
    const own = entries.filter(({ PodUID }) => PodUID === pod.metadata.uid);
    const uncounted = entries.filter(({ PodUID }) => !counted.has(PodUID));
    return this.#options.resources.filter((resource) => {
      const wanted = podCount(pod, resource);
      const healthy = this.#of(resource).healthy ?? new Set();
      const held = others.reduce((sum, other) => sum + podCount(other, resource), 0);
      const left = new Set(writtenIds(uncounted, resource)).size;
      // As with the kubelet, a pod gets no other devices in place of its broken ones.
      const hasBroken = writtenIds(own, resource).some((id) => !healthy.has(id));
      return wanted > 0 && (hasBroken || held + left + wanted > healthy.size);
    });
  }

  /** Whether a plugin has just failed the pod. */
  hasJustFailed(pod: Pod): boolean {
    const now = this.#options.now();
    return this.#options.resources.some(
      (resource) => podCount(pod, resource) > 0 && this.#failedAt.get(resource) === now,
    );
  }

  /** To be called as often as an agent does its housekeeping. `settled`: the pods for which nothing is under way. */
  housekeeping(settled: readonly (readonly [uid: string, status: PodStatus | undefined])[]): void {
    const wrong = settled.filter(([, status]) => this.untruth(status) !== undefined).map(([uid]) => uid);
    for (const uid of this.#unreported.look(this.#options.now(), wrong))
      this.#options.violated(uid, 'its status does not follow the health of its devices');
  }

  /** How the status of a pod and its plugins differ about its devices. */
  untruth(status: PodStatus | undefined): string | undefined {
    const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
    const statuses = all.flatMap(({ allocatedResourcesStatus = [] }) => allocatedResourcesStatus);
    for (const { name, resources = [] } of statuses)
      for (const { resourceID, health } of resources)
        if ((health === 'Healthy') !== (this.#of(name).healthy?.has(resourceID) === true))
          return `its device ${resourceID} is said to be ${String(health)}, and is not`;
    return undefined;
  }

  /** The same of the node. */
  untruthOfNode({
    capacity = {},
    allocatable = {},
  }: {
    readonly capacity?: Readonly<Record<string, string>>;
    readonly allocatable?: Readonly<Record<string, string>>;
  }): string | undefined {
    for (const resource of this.#options.resources) {
      const { all, healthy } = this.#of(resource);
      const said = `${String(allocatable[resource])} of ${String(capacity[resource])}`;
      const true_ = `${String(healthy?.size)} of ${String(all)}`;
      if (said !== true_) return `the node is said to have ${said} devices of ${resource}, and has ${true_}`;
    }
    return undefined;
  }

  #of(resource: string): ListedDevices {
    return this.#listed.get(resource) ?? UNKNOWN;
  }

  /** Whether the agent must know the resource: not if it was registered at this moment, or is about to be forgotten. */
  #isKnown(resource: string): boolean {
    const { knownSince, silentSince } = this.#of(resource);
    const now = this.#options.now();
    return knownSince < now && (silentSince === undefined || now < silentSince + GRACE_MS);
  }

  *#running(): Iterable<ContainerTruth> {
    const runtime = this.#options.runtime();
    for (const uid of runtime.uids())
      for (const { containers } of runtime.sandboxesOf(uid))
        for (const container of containers) if (container.state === 'CONTAINER_RUNNING') yield container;
  }
}

function idsOf(envs: readonly KeyValue[], resource: string): readonly string[] {
  const value = envs.find(({ key }) => key === `${DEVICES_VARIABLE}${resource}`)?.value ?? '';
  return value === '' ? [] : value.split(',');
}

function writtenIds(entries: readonly Entry[], resource: string): readonly string[] {
  return entries
    .filter(({ ResourceName }) => ResourceName === resource)
    .flatMap(({ DeviceIDs }) => Object.values(DeviceIDs).flat());
}

function countOf(container: Pick<Container, 'resources'> | undefined, resource: string): number {
  return Number(quantityValue(parseQuantity(container?.resources?.limits?.[resource] ?? '0')));
}

function podCount(pod: Pod, resource: string): number {
  return resourceAmount(resource, podRequest(pod, resource));
}

interface Checkpoint {
  readonly entries: readonly Entry[];
  readonly resources: readonly string[];
  readonly isDamaged?: true;
}

function contentOf(checkpoint: string | undefined): Checkpoint {
  if (checkpoint === undefined) return { entries: [], resources: [] };
  try {
    const { Data } = JSON.parse(checkpoint) as {
      Data: { PodDeviceEntries: readonly Entry[] | null; RegisteredDevices: object };
    };
    return { entries: Data.PodDeviceEntries ?? [], resources: Object.keys(Data.RegisteredDevices) };
  } catch {
    return { entries: [], resources: [], isDamaged: true };
  }
}

/** The UIDs of pods of which the checkpoint has something. */
export function podsIn(checkpoint: string | undefined): readonly string[] {
  return contentOf(checkpoint).entries.map(({ PodUID }) => PodUID);
}
