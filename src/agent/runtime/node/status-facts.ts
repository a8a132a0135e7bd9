/**
 * What the status of the node is made from. All that must be read or asked for is read in the background, so that the facts are there
 * at once: a runtime or a DNS server that hangs never holds up a report.
 */
import { withPluginResources } from '../../policies/devices/node-devices.ts';
import type { PluginResources } from '../../policies/node/machine-resources.ts';
import { bytesQuantity, type MachineSize } from '../../policies/node/node-capacity.ts';
import { reservedResources, type NodeReservations } from '../../policies/node/node-allocatable.ts';
import type { NodeStatusFacts } from '../../policies/node/node-status.ts';
import { runtimeVersionText } from '../../policies/node/node-software.ts';
import { type NodeHealth, readyProblems } from '../../policies/node/ready-problems.ts';
import { nodeIPProblem } from '../../policies/node/reported-addresses.ts';
import { PRESSURE_CONDITIONS } from '../../policies/eviction/signals.ts';
import { isUnspecified, parseIPAddress } from '../../policies/formats/ip-address.ts';
import { sleep, Timer } from '../../../system/timer.ts';
import type { AdmissionSettings } from '../../../types/node-settings.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { Image, RuntimeHandler, VersionResponse } from '../../../types/cri.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { OwnNodeFacts } from '../../../types/node-facts.ts';
import { readMachineSize } from './node-addresses.ts';
import { type NodeInfo, readNodeInfo } from './machine-facts.ts';
import {
  type AddressReaders,
  type DefaultRouteAddresses,
  localAddresses,
  OWN_ADDRESSES,
} from './own-addresses.ts';
import type { RuntimeService } from '../service/runtime-service.ts';

/** How often images, the runtime's version, DNS and routes are read again (the kubelet's value for images). */
const REFRESH_MS = 30_000;
/** The same while the runtime does not answer. */
const RETRY_MS = 2_000;

export interface StatusFactsParts extends Pick<AdmissionSettings, 'podsPerCore' | 'extendedResources'> {
  readonly runtime: Pick<RuntimeService, 'listImages' | 'version' | 'resizing'>;
  readonly nodeIPs: readonly string[];
  /** Whether a cloud controller sets the node's addresses. */
  readonly externalCloudProvider: boolean;
  readonly maxPods: number;
  readonly reservations: NodeReservations;
  readonly port: number;
  /** -1: no limit. */
  readonly maxImages: number;
  /** Facts of this machine, not those of the API server, which gets these. */
  readonly facts: OwnNodeFacts;
  /** What device plugins serve. */
  readonly devices?: (() => PluginResources) | undefined;
  /** Volumes that a controller must not detach; it resolves to undefined while that is not known. */
  readonly volumesInUse?: (() => readonly string[] | undefined) | undefined;
  /** The pressure conditions that are true now. */
  readonly conditions: () => readonly string[];
  readonly health: () => NodeHealth;
}

/**
 * The features of the API that this agent has, of those that not every node of its version has. The API server and the scheduler rely
 * on them.
 */
const DECLARED_FEATURES: readonly string[] = ['RestartAllContainersOnContainerExits'];
/** Of a node that can change the resources of what runs: without them the API server refuses such changes. */
const RESIZING_FEATURES: readonly string[] = [
  'InPlacePodLevelResourcesVerticalScaling',
  'InPlacePodVerticalScalingInitContainers',
];

/** How long the first report waits for DNS, and a single question for the runtime, too. Addresses that come later are in a later report. */
const FIRST_ADDRESSES_MS = 5_000;

/** What the machine says of itself. */
interface Machine {
  readonly size: MachineSize;
  readonly info: NodeInfo;
}

export class StatusFacts {
  readonly #context: AgentContext;
  readonly #parts: StatusFactsParts;
  readonly #machine: Machine;
  readonly #readers: AddressReaders;
  readonly #timer: Timer;
  readonly #stopped = new AbortController();
  #images: readonly Image[] | undefined;
  #version: VersionResponse | undefined;
  #dns: readonly string[] = [];
  #defaultRoute: DefaultRouteAddresses = {};
  #known = Promise.resolve();
  /** Resolves when DNS and the runtime have answered for the first time, or have failed to. */
  #asked = Promise.resolve();

  private constructor(
    context: AgentContext,
    parts: StatusFactsParts,
    machine: Machine,
    readers: AddressReaders,
  ) {
    this.#context = context;
    this.#parts = parts;
    this.#machine = machine;
    this.#readers = readers;
    this.#timer = new Timer(context.clock);
  }

  /** Reads the machine. What DNS and the runtime say comes later. */
  static async open(
    context: AgentContext,
    parts: StatusFactsParts,
    readers = OWN_ADDRESSES,
  ): Promise<StatusFacts> {
    const [size, info] = await Promise.all([readMachineSize(), readNodeInfo()]);
    const facts = new StatusFacts(context, parts, { size, info }, readers);
    facts.#begin();
    return facts;
  }

  /** The present facts for a single question: with the answers of DNS and the runtime within some seconds. */
  static async once(
    context: AgentContext,
    parts: StatusFactsParts,
    readers = OWN_ADDRESSES,
  ): Promise<NodeStatusFacts> {
    const facts = await StatusFacts.open(context, parts, readers);
    const limit = facts.#limit();
    await Promise.race([facts.#asked, limit.passed]);
    limit.end();
    facts.stop();
    return facts.now();
  }

  /** Resolves when the addresses of the node have been looked for, after some seconds at most. Only the first report waits for it. */
  get known(): Promise<void> {
    return this.#known;
  }

  #begin(): void {
    const addresses = this.#readAddresses();
    this.#asked = this.#refresh(addresses);
    const limit = this.#limit();
    this.#known = Promise.race([addresses, limit.passed]).finally(limit.end);
  }

  #limit(): { readonly passed: Promise<void>; readonly end: () => void } {
    const waited = new AbortController();
    const signals = [waited.signal, this.#stopped.signal] as const;
    const passed = sleep(this.#context.clock, FIRST_ADDRESSES_MS, ...signals).catch(() => undefined);
    return { passed, end: () => waited.abort() };
  }

  stop(): void {
    this.#stopped.abort();
    this.#timer.disarm();
  }

  now(): NodeStatusFacts {
    const { clock } = this.#context;
    const { health, port, maxImages } = this.#parts;
    const nowMs = clock.now();
    const current = health();
    const { status } = current.runtime;
    const conditions = this.#parts.conditions();
    return {
      nowMs,
      port,
      maxImages,
      addresses: this.#addresses(),
      resources: this.#resources(),
      versions: this.#versions(),
      images: this.#images,
      handlers: byName(status?.handlers ?? []),
      supplementalGroupsPolicy: status?.supplementalGroupsPolicy,
      declaredFeatures: this.#parts.runtime.resizing
        ? [...RESIZING_FEATURES, ...DECLARED_FEATURES]
        : DECLARED_FEATURES,
      volumesInUse: this.#parts.volumesInUse?.(),
      pressure: new Set(PRESSURE_CONDITIONS.filter((condition) => conditions.includes(condition))),
      readiness: { problems: readyProblems(current, nowMs), warning: '', needsEphemeralStorage: true },
    };
  }

  #addresses(): NodeStatusFacts['addresses'] {
    const { nodeIPs, externalCloudProvider, facts } = this.#parts;
    const { ipv4, ipv6 } = this.#defaultRoute;
    return {
      nodeIPs,
      externalCloudProvider,
      hostname: facts.name,
      dns: this.#dns,
      defaultRoute: (preferIPv4) => (preferIPv4 ? (ipv4 ?? ipv6) : (ipv6 ?? ipv4)),
      problem: (address) => nodeIPProblem(address, localAddresses()),
    };
  }

  #resources(): NodeStatusFacts['resources'] {
    const { maxPods, podsPerCore, extendedResources, reservations, facts, devices } = this.#parts;
    const configured = { capacity: extendedResources, allocatable: extendedResources, removed: [] };
    const { size, info } = this.#machine;
    const { capacity } = facts;
    const { 'ephemeral-storage': ephemeralStorage } = capacity;
    return {
      maxPods,
      podsPerCore,
      machine: { ...size, ...info },
      ephemeralStorage: ephemeralStorage === undefined ? undefined : bytesQuantity(ephemeralStorage),
      plugins: devices ? withPluginResources(configured, devices()) : configured,
      reserved: reservedResources(capacity, reservations),
    };
  }

  #versions(): NodeStatusFacts['versions'] {
    const { os, arch } = this.#parts.facts;
    const { kernelVersion, osImage } = this.#machine.info;
    const { runtimeName = 'unknown', runtimeVersion = '' } = this.#version ?? {};
    return {
      os,
      arch,
      kernelVersion,
      osImage,
      runtimeName,
      runtimeVersion: runtimeVersionText(runtimeVersion),
    };
  }

  async #refresh(addresses = this.#readAddresses()): Promise<void> {
    const [answered] = await Promise.all([this.#askRuntime(), addresses]);
    if (this.#stopped.signal.aborted) return;
    this.#timer.arm(answered ? REFRESH_MS : RETRY_MS, () => void this.#refresh());
  }

  /** Whether the runtime has answered. What it said before stays. */
  async #askRuntime(): Promise<boolean> {
    const { logger } = this.#context;
    const { runtime } = this.#parts;
    const { signal } = this.#stopped;
    try {
      this.#version = await runtime.version({ signal });
      this.#images = await runtime.listImages({ signal });
      return true;
    } catch (error) {
      if (!signal.aborted)
        logger.debug({}, `The images of the node cannot be listed: ${errorMessage(error)}`);
      return false;
    }
  }

  /** Without `--node-ip`, the node's address is found by DNS and routes, unless the node's name is one. */
  async #readAddresses(): Promise<void> {
    const { nodeIPs, facts } = this.#parts;
    const { name } = facts;
    if (nodeIPs.some(isSpecific) || parseIPAddress(name)) return;
    const { dns, defaultRoute } = this.#readers;
    await Promise.all([
      dns(name).then((found) => (this.#dns = found)),
      defaultRoute().then((found) => (this.#defaultRoute = found)),
    ]);
  }
}

/** Whether the address says more than which family is preferred. */
function isSpecific(nodeIP: string): boolean {
  const address = parseIPAddress(nodeIP);
  return address !== undefined && !isUnspecified(address);
}

function byName(handlers: readonly RuntimeHandler[]): readonly RuntimeHandler[] {
  return handlers.toSorted((a, b) => Number(a.name > b.name) - Number(a.name < b.name));
}
