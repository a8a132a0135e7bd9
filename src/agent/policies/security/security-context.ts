/** The user that a container runs as and what it may do: its own security context, else that of the pod. */
import type {
  LinuxContainerSecurityContext,
  LinuxSandboxSecurityContext,
  NamespaceOption,
  SELinuxOption,
  SupplementalGroupsPolicy,
  UserNamespace,
} from '../../../types/cri.ts';
import { type StateletError, invalid } from '../../../types/errors.ts';
import type { Container, EphemeralContainer, Pod, PodSpec } from '../../../types/kubernetes.ts';
import { podText } from '../pod/pod-kinds.ts';
import {
  appArmorProfile,
  deprecatedAppArmorProfile,
  RUNTIME_DEFAULT,
  type SeccompFacts,
  seccompProfile,
} from './apparmor.ts';

type PodSecurityContext = NonNullable<PodSpec['securityContext']>;
type Capabilities = NonNullable<NonNullable<Container['securityContext']>['capabilities']>;
type AnyContainer = Container | EphemeralContainer;

/** The user of an image, by number or by name; root if it has neither. */
export interface ImageUser {
  readonly uid?: number;
  readonly username?: string;
}

export interface SecurityFacts extends SeccompFacts {
  /** The ids that the node has reserved for a pod with hostUsers: false. */
  readonly users?: UserNamespace;
  /** Groups that the pod's volumes give its containers. */
  readonly volumeGroups?: readonly number[];
  /** Paths that containers must not see on this machine, besides those of every machine. */
  readonly maskedPaths?: readonly string[];
}

const MASKED_PATHS: readonly string[] = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];
const READONLY_PATHS: readonly string[] = [
  '/proc/bus',
  '/proc/fs',
  '/proc/irq',
  '/proc/sys',
  '/proc/sysrq-trigger',
];

/** Throws a StateletError of kind InvalidArgument if the pod asks for something that it cannot have. */
export function containerSecurityContext(
  pod: Pod,
  container: AnyContainer,
  { imageUser, targetId }: { imageUser: ImageUser | undefined; targetId: string | undefined },
  facts: SecurityFacts,
): LinuxContainerSecurityContext {
  const { capabilities, privileged, readOnlyRootFilesystem, allowPrivilegeEscalation, procMount } =
    container.securityContext ?? {};
  const unmasked = procMount === 'Unmasked';
  const apparmor = appArmorProfile(pod, container);
  return {
    ...containerUser(pod, container, imageUser),
    ...(capabilities && { capabilities: criCapabilities(capabilities) }),
    privileged: privileged ?? false,
    namespaceOptions: containerNamespaces(pod.spec, targetId, facts.users),
    selinuxOptions: selinuxOption(
      container.securityContext?.seLinuxOptions ?? pod.spec.securityContext?.seLinuxOptions,
    ),
    readonlyRootfs: readOnlyRootFilesystem ?? false,
    ...supplementalGroups(pod.spec, facts.volumeGroups),
    noNewPrivs: allowPrivilegeEscalation === false,
    maskedPaths: unmasked ? [] : [...MASKED_PATHS, ...(facts.maskedPaths ?? [])],
    readonlyPaths: unmasked ? [] : READONLY_PATHS,
    seccomp: seccompProfile(pod, container, facts),
    ...(apparmor && { apparmor, apparmorProfile: deprecatedAppArmorProfile(apparmor) }),
  };
}

/** The part of a security context that applies to a plain process of this machine. Throws as `containerUser` does. */
export function processSecurityContext(
  pod: Pod,
  container: AnyContainer,
  imageUser: ImageUser | undefined,
): LinuxContainerSecurityContext {
  const { capabilities, allowPrivilegeEscalation } = container.securityContext ?? {};
  const { supplementalGroups: groups = [] } = supplementalGroups(pod.spec);
  return {
    ...containerUser(pod, container, imageUser),
    ...(capabilities && { capabilities: criCapabilities(capabilities) }),
    ...(groups.length > 0 && { supplementalGroups: groups }),
    ...(allowPrivilegeEscalation === false && { noNewPrivs: true }),
  };
}

function criCapabilities({
  add = [],
  drop = [],
}: Capabilities): NonNullable<LinuxContainerSecurityContext['capabilities']> {
  return { addCapabilities: add, dropCapabilities: drop };
}

/**
 * The user and group that a container runs as; the user by name if the image has no number. Throws a StateletError of kind
 * InvalidArgument if it must not be root and is, or may be. `imageUser` is undefined if the image is not known.
 */
export function containerUser(
  pod: Pod,
  container: AnyContainer,
  imageUser: ImageUser | undefined,
): Pick<LinuxContainerSecurityContext, 'runAsUser' | 'runAsGroup' | 'runAsUsername'> {
  const { securityContext: own } = container;
  const { securityContext: ofPod } = pod.spec;
  const runAsUser = own?.runAsUser ?? ofPod?.runAsUser;
  const runAsGroup = own?.runAsGroup ?? ofPod?.runAsGroup;
  if (own?.runAsNonRoot ?? ofPod?.runAsNonRoot) {
    const problem = rootProblem(runAsUser, imageUser);
    if (problem) throw notNonRoot(problem, pod, container);
  }
  if (runAsUser !== undefined || !imageUser) return { runAsUser, runAsGroup };
  const { uid, username } = imageUser;
  if (uid === undefined && username) return { runAsUsername: username, runAsGroup };
  return { runAsUser: uid ?? 0, runAsGroup };
}

function rootProblem(runAsUser: number | undefined, imageUser: ImageUser | undefined): string | undefined {
  if (runAsUser !== undefined) {
    return runAsUser === 0 ? "container's runAsUser breaks non-root policy" : undefined;
  }
  if (!imageUser) return 'container has runAsNonRoot and nothing is known of the user of its image';
  const { uid, username } = imageUser;
  if (uid === undefined && username) {
    return `container has runAsNonRoot and image has non-numeric user (${username}), cannot verify user is non-root`;
  }
  return (uid ?? 0) === 0 ? 'container has runAsNonRoot and image will run as root' : undefined;
}

function notNonRoot(problem: string, pod: Pod, { name }: AnyContainer): StateletError {
  return invalid(`${problem} (pod: "${podText(pod)}", container: ${name})`);
}

/** A container joins the processes of a target only if the pod's containers do not share their processes anyway. */
function containerNamespaces(
  spec: PodSpec,
  targetId: string | undefined,
  users: UserNamespace | undefined,
): NamespaceOption {
  const namespaces = podNamespaces(spec, users);
  if (targetId === undefined || namespaces.pid !== 'CONTAINER') return namespaces;
  return { ...namespaces, pid: 'TARGET', targetId };
}

/** The security context of the sandbox. Its own process is confined, whatever the containers may do. */
export function sandboxSecurityContext(
  { spec }: Pod,
  users: UserNamespace | undefined,
  volumeGroups: readonly number[] = [],
): LinuxSandboxSecurityContext {
  const { runAsUser, runAsGroup, seLinuxOptions } = spec.securityContext ?? {};
  return {
    namespaceOptions: podNamespaces(spec, users),
    selinuxOptions: selinuxOption(seLinuxOptions),
    runAsUser,
    // The runtime refuses a group without a user, with a message.
    runAsGroup,
    ...supplementalGroups(spec, volumeGroups),
    // The runtime refuses a privileged container in a sandbox that is not.
    privileged: allContainers(spec).some(({ securityContext }) => securityContext?.privileged === true),
    seccomp: RUNTIME_DEFAULT,
  };
}

function allContainers({ containers, initContainers = [], ephemeralContainers = [] }: PodSpec) {
  return [...containers, ...initContainers, ...ephemeralContainers];
}

/** Fields that are not given are left empty: the runtime fills them in. */
function selinuxOption(options: PodSecurityContext['seLinuxOptions']): SELinuxOption | undefined {
  if (!options) return undefined;
  const { user = '', role = '', type = '', level = '' } = options;
  return { user, role, type, level };
}

function supplementalGroups(
  { securityContext }: PodSpec,
  volumeGroups: readonly number[] = [],
): Pick<LinuxSandboxSecurityContext, 'supplementalGroups' | 'supplementalGroupsPolicy'> {
  const { fsGroup, supplementalGroups: groups = [], supplementalGroupsPolicy } = securityContext ?? {};
  const others = volumeGroups.filter((group) => !groups.includes(group));
  return {
    supplementalGroups: [...(fsGroup === undefined ? [] : [fsGroup]), ...groups, ...others],
    ...(supplementalGroupsPolicy && {
      supplementalGroupsPolicy: supplementalGroupsPolicy as SupplementalGroupsPolicy,
    }),
  };
}

const NODE_USERS: UserNamespace = { mode: 'NODE', uids: [], gids: [] };

/**
 * `users`: the ids that the node has reserved for a pod with hostUsers: false. Throws a StateletError of kind InvalidArgument
 * if such a pod has none: without a user namespace its root would be root of the node.
 */
export function podNamespaces(spec: PodSpec, users: UserNamespace | undefined): NamespaceOption {
  if (spec.hostUsers === false && !users) {
    throw invalid(
      "can't set `spec.hostUsers: false`: this runtime has no user namespaces; leave it out, or set it to true",
    );
  }
  return {
    network: spec.hostNetwork ? 'NODE' : 'POD',
    pid: pidNamespace(spec),
    ipc: spec.hostIPC ? 'NODE' : 'POD',
    usernsOptions: users ?? NODE_USERS,
  };
}

function pidNamespace({ hostPID, shareProcessNamespace }: PodSpec): NamespaceOption['pid'] {
  if (hostPID) return 'NODE';
  return shareProcessNamespace ? 'POD' : 'CONTAINER';
}
