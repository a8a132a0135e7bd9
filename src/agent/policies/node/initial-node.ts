/** The Node object: as a node registers itself, before its status is filled in, and what the node reads from it. */
import type { Node, Taint } from '../../../types/kubernetes.ts';
import type { OwnNodeFacts } from '../../../types/node-facts.ts';

export const CONTROLLER_MANAGED_ATTACH = 'volumes.kubernetes.io/controller-managed-attach-detach';
const OS = 'kubernetes.io/os';
const ARCH = 'kubernetes.io/arch';
const UNSCHEDULABLE: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
const UNINITIALIZED: Taint = {
  key: 'node.cloudprovider.kubernetes.io/uninitialized',
  value: 'true',
  effect: 'NoSchedule',
};

export interface RegistrationSettings {
  readonly nodeName: string;
  /** The value of the label kubernetes.io/hostname. */
  readonly hostname: string;
  /** As Go calls them: `linux`, `amd64`. */
  readonly os: string;
  readonly arch: string;
  /** `--node-labels`. */
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly registerWithTaints: readonly Taint[];
  readonly registerSchedulable: boolean;
  /** Whether a cloud controller initializes the node (`--cloud-provider external`). */
  readonly externalCloudProvider: boolean;
  /** Empty: no cloud provider has named this machine. */
  readonly providerID: string;
  /** Whether the controller manager attaches volumes to this node. */
  readonly controllerManagedAttach: boolean;
  /** No agent of this machine has handed out devices: what an existing object says of extended resources is of a former node. */
  readonly resetsExtendedResources?: boolean;
}

export function initialNode(settings: RegistrationSettings): Node {
  const { nodeName, providerID, registerSchedulable, controllerManagedAttach } = settings;
  const taints = initialTaints(settings);
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: nodeName,
      labels: { ...ownLabels(settings), ...settings.nodeLabels },
      ...(controllerManagedAttach && { annotations: { [CONTROLLER_MANAGED_ATTACH]: 'true' } }),
    },
    spec: {
      ...(!registerSchedulable && { unschedulable: true }),
      ...(taints.length > 0 && { taints }),
      ...(providerID !== '' && { providerID }),
    },
  };
}

export type Platform = Pick<RegistrationSettings, 'os' | 'arch'>;

function ownLabels({ hostname, os, arch }: RegistrationSettings): Readonly<Record<string, string>> {
  return {
    'kubernetes.io/hostname': hostname,
    [OS]: os,
    [ARCH]: arch,
    'beta.kubernetes.io/os': os,
    'beta.kubernetes.io/arch': arch,
  };
}

/** A node that is not schedulable has the taint from the beginning, so that no pod is bound to it before the controller adds it. */
function initialTaints(settings: RegistrationSettings): readonly Taint[] {
  const { registerWithTaints, registerSchedulable, externalCloudProvider } = settings;
  const hasUnschedulable = registerWithTaints.some(
    ({ key, effect }) => key === UNSCHEDULABLE.key && effect === UNSCHEDULABLE.effect,
  );
  return [
    ...registerWithTaints,
    ...(registerSchedulable || hasUnschedulable ? [] : [UNSCHEDULABLE]),
    ...(externalCloudProvider ? [UNINITIALIZED] : []),
  ];
}

/** With the labels of the operating system and the architecture, which each report of the status puts back. */
export function withPlatformLabels(node: Node, { os, arch }: Platform): Node {
  const labels = node.metadata.labels ?? {};
  if (labels[OS] === os && labels[ARCH] === arch) return node;
  return { ...node, metadata: { ...node.metadata, labels: { ...labels, [OS]: os, [ARCH]: arch } } };
}

const ANNOTATION = 'node.alpha.kubernetes.io/ttl';

/** How long the control plane wants nodes to keep objects without asking again: more in a larger cluster. In ms. */
export function objectTTLOf({ metadata }: Node): number | undefined {
  const seconds = metadata.annotations?.[ANNOTATION] ?? '';
  return /^\d+$/u.test(seconds) ? Number(seconds) * 1000 : undefined;
}

/** What pods are judged by in a cluster: labels, taints and allocatable are those of the node object, as the scheduler sees them. */
export function withNodeObject(own: OwnNodeFacts, node: Node | undefined): OwnNodeFacts {
  if (node === undefined) return own;
  const { metadata, spec, status } = node;
  return {
    ...own,
    labels: metadata.labels ?? {},
    taints: spec?.taints ?? [],
    capacity: status?.capacity ?? own.capacity,
    allocatable: status?.allocatable ?? own.allocatable,
  };
}
