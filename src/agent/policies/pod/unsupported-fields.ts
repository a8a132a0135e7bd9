import type { Container, Pod, PodSpec } from '../../../types/kubernetes.ts';
import { isExtendedResourceName } from '../node/node-capacity.ts';
import type { ResourceList } from './resources.ts';

/** A field by its path, and whether the pod asks by it for something that this node does not provide. */
type Rule<T> = readonly [path: string, isAsked: (of: T) => boolean];

/** The fields that have no effect on a node. */
export interface NodeLimits {
  readonly ofPod: readonly Rule<PodSpec>[];
  readonly ofContainers: readonly Rule<Container>[];
  /** Whether a limit of this resource has no effect, where `ofContainers` does not say so of all limits. */
  readonly lacks: (resource: string) => boolean;
}

type Profile = { readonly type?: string } | undefined;

/** Plain processes share the machine's file system, resources, names and kernel settings. */
const OF_EMBEDDED_POD: readonly Rule<PodSpec>[] = [
  ['runtimeClassName', ({ runtimeClassName }) => isGiven(runtimeClassName)],
  ['hostUsers', ({ hostUsers }) => hostUsers === false],
  ['hostAliases', ({ hostAliases }) => isGiven(hostAliases)],
  ['dnsPolicy', ({ dnsPolicy }) => dnsPolicy === 'None'],
  ['dnsConfig', ({ dnsConfig }) => isGiven(dnsConfig)],
  ['imagePullSecrets', ({ imagePullSecrets }) => isGiven(imagePullSecrets)],
  ['securityContext.sysctls', ({ securityContext }) => isGiven(securityContext?.sysctls)],
  [
    'securityContext.supplementalGroupsPolicy',
    ({ securityContext }) => securityContext?.supplementalGroupsPolicy === 'Merge',
  ],
  [
    'securityContext.fsGroupChangePolicy',
    ({ securityContext }) => isGiven(securityContext?.fsGroupChangePolicy),
  ],
  ['securityContext.seccompProfile', ({ securityContext }) => confines(securityContext?.seccompProfile)],
  ['securityContext.appArmorProfile', ({ securityContext }) => confines(securityContext?.appArmorProfile)],
  ['securityContext.seLinuxOptions', ({ securityContext }) => isGiven(securityContext?.seLinuxOptions)],
];

const OF_EMBEDDED_CONTAINER: readonly Rule<Container>[] = [
  ['volumeDevices', ({ volumeDevices }) => isGiven(volumeDevices)],
  ['ports.hostPort', ({ ports }) => (ports ?? []).some(isMapped)],
  ['ports.hostIP', ({ ports }) => (ports ?? []).some(({ hostIP }) => isGiven(hostIP))],
  [
    'securityContext.readOnlyRootFilesystem',
    ({ securityContext }) => securityContext?.readOnlyRootFilesystem === true,
  ],
  ['securityContext.seccompProfile', ({ securityContext }) => confines(securityContext?.seccompProfile)],
  ['securityContext.appArmorProfile', ({ securityContext }) => confines(securityContext?.appArmorProfile)],
  ['securityContext.seLinuxOptions', ({ securityContext }) => isGiven(securityContext?.seLinuxOptions)],
];

/** Fields that take effect only if the agent runs as root: another user may not change groups or add privileges. */
const ROOT_ONLY_OF_POD: readonly Rule<PodSpec>[] = [
  ['securityContext.fsGroup', ({ securityContext }) => isGiven(securityContext?.fsGroup)],
  [
    'securityContext.supplementalGroups',
    ({ securityContext }) => isGiven(securityContext?.supplementalGroups),
  ],
];
const ROOT_ONLY_OF_CONTAINER: readonly Rule<Container>[] = [
  ['securityContext.privileged', ({ securityContext }) => securityContext?.privileged === true],
  ['securityContext.capabilities.add', ({ securityContext }) => isGiven(securityContext?.capabilities?.add)],
];

const VOLUMES_OF_POD: readonly Rule<PodSpec>[] = [['volumes', ({ volumes }) => isGiven(volumes)]];
const VOLUMES_OF_CONTAINER: readonly Rule<Container>[] = [
  ['volumeMounts', ({ volumeMounts }) => isGiven(volumeMounts)],
];

const LIMITS_OF_POD: readonly Rule<PodSpec>[] = [
  ['resources.limits', ({ resources }) => needsCgroup(resources?.limits)],
];
const LIMITS_OF_CONTAINER: readonly Rule<Container>[] = [
  ['resources.limits', ({ resources }) => needsCgroup(resources?.limits)],
];

export interface EmbeddedFacts {
  /** The agent runs as root. */
  readonly isRoot: boolean;
  /** Volumes are mounted. */
  readonly hasVolumes: boolean;
  readonly hasCgroups: boolean;
  /** What the node is configured to have: it is counted. */
  readonly allocatable: ResourceList;
}

/** The limits of a node that runs containers as plain processes. */
export function embeddedLimits({ isRoot, hasVolumes, hasCgroups, allocatable }: EmbeddedFacts): NodeLimits {
  return {
    ofPod: [
      ...(hasVolumes ? [] : VOLUMES_OF_POD),
      ...(hasCgroups ? [] : LIMITS_OF_POD),
      ...OF_EMBEDDED_POD,
      ...(isRoot ? [] : ROOT_ONLY_OF_POD),
    ],
    ofContainers: [
      ...(hasVolumes ? [] : VOLUMES_OF_CONTAINER),
      ...(hasCgroups ? [] : LIMITS_OF_CONTAINER),
      ...OF_EMBEDDED_CONTAINER,
      ...(isRoot ? [] : ROOT_ONLY_OF_CONTAINER),
    ],
    // Plugins give devices to containers of a runtime alone.
    lacks: (resource) =>
      hasCgroups && isExtendedResourceName(resource) && !Object.hasOwn(allocatable, resource),
  };
}

/** The paths of the pod's fields that are valid but have no effect on this node. The user must be warned about them. */
export function unsupportedFields(
  { spec }: Pod,
  { ofPod, ofContainers, lacks }: NodeLimits,
): readonly string[] {
  const containers = [
    ...spec.containers.map((container) => ({ list: 'containers', container })),
    ...(spec.initContainers ?? []).map((container) => ({ list: 'initContainers', container })),
  ];
  return [
    ...asked(spec, ofPod, 'spec'),
    ...containers.flatMap(({ list, container }) => {
      const path = `spec.${list}[${container.name}]`;
      const resources = Object.keys(container.resources?.limits ?? {}).filter(lacks);
      return [
        ...asked(container, ofContainers, path),
        ...resources.map((name) => `${path}.resources.limits[${name}]`),
      ];
    }),
  ];
}

function asked<T>(of: T, rules: readonly Rule<T>[], prefix: string): string[] {
  return rules.filter(([, isAsked]) => isAsked(of)).map(([path]) => `${prefix}.${path}`);
}

function isGiven(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value != null && value !== '';
}

/** Local storage is limited by eviction. */
function needsCgroup(limits: ResourceList = {}): boolean {
  return Object.keys(limits).some((name) => name !== 'ephemeral-storage');
}

/** Processes use the machine's own network, which maps no ports: the host port has to be the container's port. */
function isMapped({ hostPort, containerPort }: { hostPort?: number; containerPort: number }): boolean {
  return isGiven(hostPort) && hostPort !== 0 && hostPort !== containerPort;
}

function confines(profile: Profile): boolean {
  return profile?.type !== undefined && profile.type !== 'Unconfined';
}
