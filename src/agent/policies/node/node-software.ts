/** What runs on a machine, in its node's status: versions, images, and what the container runtime can do. */
import type { Platform } from './initial-node.ts';
import { NO_NODE_INFO } from './machine-resources.ts';
import type { Image, RuntimeHandler } from '../../../types/cri.ts';
import type { Node, NodeStatus, NodeSystemInfo } from '../../../types/kubernetes.ts';

/** The version of the kubelet whose behaviour Statelet has. Tools compare it with the version of the API server. */
export const KUBELET_VERSION = 'v1.36.2';
/** Its minor version, without `v`. */
export const KUBERNETES_VERSION = '1.36';

const IMAGE_NAMES_MAX = 5;
const SEMANTIC_VERSION = /^v?\d+\.\d+\.\d+(?:-[\dA-Za-z.-]+)?(?:\+[\dA-Za-z.-]+)?$/;

export interface VersionFacts {
  readonly kernelVersion: string;
  readonly osImage: string;
  /** `containerd`. */
  readonly runtimeName: string;
  /** Undefined where the runtime did not answer. */
  readonly runtimeVersion: string | undefined;
}

/** Undefined: the machine could not be asked, and what is known stays. */
export function withVersions(node: Node, facts: VersionFacts | undefined): Node {
  if (!facts) return node;
  const { kernelVersion, osImage, runtimeName, runtimeVersion = 'Unknown' } = facts;
  const nodeInfo: NodeSystemInfo = {
    ...(node.status?.nodeInfo ?? NO_NODE_INFO),
    kernelVersion,
    osImage,
    containerRuntimeVersion: `${runtimeName}://${runtimeVersion}`,
    kubeletVersion: KUBELET_VERSION,
    kubeProxyVersion: '',
  };
  return withStatus(node, { nodeInfo });
}

/** Known also of a machine that could not be asked. */
export function withPlatform(node: Node, { os, arch }: Platform): Node {
  const nodeInfo = node.status?.nodeInfo ?? NO_NODE_INFO;
  return withStatus(node, { nodeInfo: { ...nodeInfo, operatingSystem: os, architecture: arch } });
}

/** A runtime's version as a node's status has it: `1.7.24` of `v1.7.24`, `1.6.20` of `1.6.20~ds1`. Undefined for a text without one. */
export function runtimeVersionText(version: string): string | undefined {
  if (SEMANTIC_VERSION.test(version)) return version.replace(/^v/, '');
  return /^\s*v?(\d+(?:\.\d+)+)/.exec(version)?.[1];
}

/** The largest images first. `max` -1: all of them. Undefined images: the runtime could not list them. */
export function withImages(node: Node, images: readonly Image[] | undefined, max: number): Node {
  const listed = largestFirst(images ?? []).slice(0, max < 0 ? undefined : max);
  return withStatusList(
    node,
    'images',
    listed.map(({ repoDigests = [], repoTags, size }) => ({
      names: [...repoDigests, ...repoTags].slice(0, IMAGE_NAMES_MAX),
      sizeBytes: size,
    })),
  );
}

function largestFirst(images: readonly Image[]): readonly Image[] {
  return images.toSorted((a, b) => b.size - a.size || Number(a.id < b.id) - Number(a.id > b.id));
}

/** Where the API server reaches the node's own server. */
export function withPort(node: Node, port: number): Node {
  return withStatus(node, { daemonEndpoints: { kubeletEndpoint: { Port: port } } });
}

export function withRuntimeHandlers(node: Node, handlers: readonly RuntimeHandler[]): Node {
  const shown = handlers.map(({ name, features }) => ({
    name,
    features: {
      recursiveReadOnlyMounts: features?.recursiveReadOnlyMounts ?? false,
      userNamespaces: features?.userNamespaces ?? false,
    },
  }));
  return withStatusList(node, 'runtimeHandlers', shown);
}

/** Undefined: the runtime has not reported its features, and those that are known stay. */
export function withFeatures(node: Node, supplementalGroupsPolicy: boolean | undefined): Node {
  return supplementalGroupsPolicy === undefined
    ? node
    : withStatus(node, { features: { supplementalGroupsPolicy } });
}

export function withStatus(node: Node, status: NodeStatus): Node {
  return { ...node, status: { ...node.status, ...status } };
}

/** A list that is empty is left out, as the API server does. */
export function withStatusList<Key extends keyof NodeStatus>(
  node: Node,
  key: Key,
  list: NodeStatus[Key] & readonly unknown[],
): Node {
  if (list.length > 0) return { ...node, status: { ...node.status, [key]: list } };
  const others = Object.entries(node.status ?? {}).filter(([name]) => name !== key);
  return { ...node, status: Object.fromEntries(others) };
}
