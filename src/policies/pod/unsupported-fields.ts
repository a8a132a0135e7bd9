import type { Container, Pod, PodSpec } from '../../types/kubernetes.ts';

/** A field by its path, and whether what it asks for is more than this node gives to everybody. */
type Rule<T> = readonly [path: string, isAsked: (of: T) => boolean];

/** What a node cannot give to a pod. */
export interface NodeLimits {
  readonly ofPod: readonly Rule<PodSpec>[];
  readonly ofContainers: readonly Rule<Container>[];
}

type Profile = { readonly type?: string } | undefined;

/** Plain processes share the machine's file system, resources, names and kernel settings. */
const OF_EMBEDDED_POD: readonly Rule<PodSpec>[] = [
  ['volumes', ({ volumes }) => isGiven(volumes)],
  ['runtimeClassName', ({ runtimeClassName }) => isGiven(runtimeClassName)],
  ['hostUsers', ({ hostUsers }) => hostUsers === false],
  ['hostAliases', ({ hostAliases }) => isGiven(hostAliases)],
  ['dnsPolicy', ({ dnsPolicy }) => dnsPolicy === 'None'],
  ['dnsConfig', ({ dnsConfig }) => isGiven(dnsConfig)],
  ['imagePullSecrets', ({ imagePullSecrets }) => isGiven(imagePullSecrets)],
  ['resourceClaims', ({ resourceClaims }) => isGiven(resourceClaims)],
  ['resources.limits', ({ resources }) => isGiven(resources?.limits)],
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
  ['volumeMounts', ({ volumeMounts }) => isGiven(volumeMounts)],
  ['volumeDevices', ({ volumeDevices }) => isGiven(volumeDevices)],
  ['resources.limits', ({ resources }) => isGiven(resources?.limits)],
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

/** What only root can give: another user may not change groups, nor have what it has not. */
const ROOTS_OF_POD: readonly Rule<PodSpec>[] = [
  ['securityContext.fsGroup', ({ securityContext }) => isGiven(securityContext?.fsGroup)],
  [
    'securityContext.supplementalGroups',
    ({ securityContext }) => isGiven(securityContext?.supplementalGroups),
  ],
];
const ROOTS_OF_CONTAINER: readonly Rule<Container>[] = [
  ['securityContext.privileged', ({ securityContext }) => securityContext?.privileged === true],
  ['securityContext.capabilities.add', ({ securityContext }) => isGiven(securityContext?.capabilities?.add)],
];

/** Of plain processes, by whom they are started. */
export function embeddedLimits(isRoot: boolean): NodeLimits {
  return {
    ofPod: isRoot ? OF_EMBEDDED_POD : [...OF_EMBEDDED_POD, ...ROOTS_OF_POD],
    ofContainers: isRoot ? OF_EMBEDDED_CONTAINER : [...OF_EMBEDDED_CONTAINER, ...ROOTS_OF_CONTAINER],
  };
}

export const CRI_LIMITS: NodeLimits = {
  ofPod: [],
  ofContainers: [['volumeDevices', ({ volumeDevices }) => isGiven(volumeDevices)]],
};

/** Fields of the pod that are valid and have no effect on this node, by path: whoever counts on them must be told. */
export function unsupportedFields({ spec }: Pod, { ofPod, ofContainers }: NodeLimits): readonly string[] {
  const containers = [
    ...spec.containers.map((container) => ({ list: 'containers', container })),
    ...(spec.initContainers ?? []).map((container) => ({ list: 'initContainers', container })),
  ];
  return [
    ...asked(spec, ofPod, 'spec'),
    ...containers.flatMap(({ list, container }) =>
      asked(container, ofContainers, `spec.${list}[${container.name}]`),
    ),
  ];
}

function asked<T>(of: T, rules: readonly Rule<T>[], prefix: string): string[] {
  return rules.filter(([, isAsked]) => isAsked(of)).map(([path]) => `${prefix}.${path}`);
}

function isGiven(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value != null && value !== '';
}

/** On the machine's own network nothing is mapped: a port is that of the machine itself. */
function isMapped({ hostPort, containerPort }: { hostPort?: number; containerPort: number }): boolean {
  return isGiven(hostPort) && hostPort !== 0 && hostPort !== containerPort;
}

function confines(profile: Profile): boolean {
  return profile?.type !== undefined && profile.type !== 'Unconfined';
}
