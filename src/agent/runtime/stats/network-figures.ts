/** The figures of a network's interfaces, from the folder `net` of a process in that network. */
import { join } from 'node:path';
import type { RuntimePodStatus } from '../../../types/runtime-pod.ts';
import type { InterfaceStats, NetworkStats } from '../../../types/stats.ts';
import type { CgroupTree } from '../cgroups/cgroup-tree.ts';
import { groupFolder, type PodGroups, processesOf } from './pod-groups.ts';
import { runningContainers } from './pod-figures.ts';
import { readLongFile } from './small-files.ts';

/** The kubelet's name of the default interface. */
const USUAL_DEFAULT = 'eth0';
/** The kubelet leaves these out: loopback, and the node's ends of the interfaces of pods and containers. */
const LEFT_OUT = /^(?:lo|veth|docker|nerdctl)/i;

export function isLeftOut(interfaceName: string): boolean {
  return LEFT_OUT.test(interfaceName);
}

/** Undefined if the folder cannot be read. */
export function networkStats(netFolder: string, time: string): NetworkStats | undefined {
  const text = readLongFile(join(netFolder, 'dev'));
  if (text === undefined) return undefined;
  const interfaces = interfacesIn(text);
  const named = (wanted: string | undefined) => interfaces.find(({ name }) => name === wanted);
  return { time, ...(named(USUAL_DEFAULT) ?? named(defaultInterface(netFolder))), interfaces };
}

/** `eth0: 7 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0`: eight numbers for receiving, eight for sending. */
const INTERFACE = /^ *([^\s:]+): *(\d+) +\d+ +(\d+)(?: +\d+){5} +(\d+) +\d+ +(\d+)/gm;

function interfacesIn(text: string): readonly InterfaceStats[] {
  const found: InterfaceStats[] = [];
  for (const [, name = '', rxBytes, rxErrors, txBytes, txErrors] of text.matchAll(INTERFACE)) {
    if (isLeftOut(name)) continue;
    found.push({
      name,
      rxBytes: Number(rxBytes),
      rxErrors: Number(rxErrors),
      txBytes: Number(txBytes),
      txErrors: Number(txErrors),
    });
  }
  return found;
}

interface Route {
  readonly name: string;
  readonly metric: number;
}

/** The interface of the default route; of IPv6's if IPv4 has none. */
function defaultInterface(netFolder: string): string | undefined {
  const routes = (file: string, routeOf: (fields: readonly string[]) => Route | undefined) =>
    (readLongFile(join(netFolder, file)) ?? '')
      .split('\n')
      .flatMap((line) => routeOf(line.trim().split(/\s+/)) ?? [])
      .sort((a, b) => a.metric - b.metric);
  const [first] = [...routes('route', defaultRoute), ...routes('ipv6_route', defaultIPv6Route)];
  return first?.name;
}

/** `eth0 00000000 010200C0 0003 0 0 100 00000000 …`: interface, destination, gateway, flags, …, metric, mask. */
function defaultRoute(fields: readonly string[]): Route | undefined {
  const [name = '', destination, , , , , metric, mask] = fields;
  return destination === '00000000' && mask === '00000000' ? { name, metric: Number(metric) } : undefined;
}

/** Destination and its length, source and its length, next hop, metric, three more, and the interface; in hexadecimal. */
function defaultIPv6Route(fields: readonly string[]): Route | undefined {
  const [, length, , , , metric = '', , , , name = ''] = fields;
  // The kernel's own default route, on `lo`, rejects packets.
  return length === '00' && name !== 'lo' ? { name, metric: Number.parseInt(metric, 16) } : undefined;
}

/** The figures of pods' own networks, read through one of the pod's processes. */
export class PodNetworks {
  readonly #tree: CgroupTree;
  readonly #groups: PodGroups;
  readonly #root: string;

  /** `root`: the folder that contains `proc`. */
  constructor(tree: CgroupTree, groups: PodGroups, root: string) {
    this.#tree = tree;
    this.#groups = groups;
    this.#root = root;
  }

  /** Undefined if the pod is on the node's network, or no process of the pod is found. */
  of(pod: RuntimePodStatus, group: string, time: string): NetworkStats | undefined {
    const sandbox = pod.sandboxes.find(({ ready }) => ready);
    if (sandbox?.networkMode !== 'POD') return undefined;
    // Some runtimes have no process for the sandbox.
    for (const { id } of [sandbox, ...runningContainers(pod)]) {
      const stats = this.#ofGroup(this.#groups.ofContainer(group, id), time);
      if (stats !== undefined) return stats;
    }
    return undefined;
  }

  #ofGroup(group: string, time: string): NetworkStats | undefined {
    const folder = groupFolder(this.#tree, group);
    const [pid] = folder === undefined ? [] : processesOf(folder);
    return pid === undefined ? undefined : networkStats(join(this.#root, 'proc', pid, 'net'), time);
  }
}
