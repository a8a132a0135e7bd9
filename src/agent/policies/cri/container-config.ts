/** The configuration by which a runtime creates a container. */
import type {
  ContainerConfig,
  Device,
  KeyValue,
  LinuxContainerResources,
  Mount,
} from '../../../types/cri.ts';
import { StateletError } from '../../../types/errors.ts';
import type { Container, EphemeralContainer, Pod } from '../../../types/kubernetes.ts';
import type { RuntimePodStatus } from '../../../types/runtime-pod.ts';
import { containerAnnotations, containerLabels } from './cri-labels.ts';
import { type ContainerResourceFacts, containerResources } from './linux-resources.ts';
import { containerStatusByName } from '../pod-actions/restart.ts';
import {
  containerSecurityContext,
  type ImageUser,
  processSecurityContext,
  type SecurityFacts,
} from '../security/security-context.ts';

/** A container's command and environment with all references and `$(VAR)` resolved. */
export interface ResolvedCommand {
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly envs: readonly KeyValue[];
}

export type ContainerFacts = SecurityFacts & ContainerResourceFacts;

export interface ContainerConfigFacts {
  readonly pod: Pod;
  readonly container: Container | EphemeralContainer;
  readonly attempt: number;
  readonly resolved: ResolvedCommand;
  /** The runtime's reference of the image; without it, the image of the spec is used. */
  readonly imageRef?: string;
  /** The user of the image; undefined where it is not known. */
  readonly imageUser?: ImageUser;
  /** Without it the container is a plain process: the configuration has only what applies to processes. */
  readonly node?: ContainerFacts;
  /** Of a plain process that has a cgroup. */
  readonly resources?: ContainerResourceFacts | undefined;
  /** The id of the container whose processes an ephemeral container sees. */
  readonly targetId?: string;
}

/** The configuration without mounts. Throws a StateletError of kind InvalidArgument: a CreateContainerConfigError. */
export function containerConfig(facts: ContainerConfigFacts): ContainerConfig {
  const { pod, container, attempt, resolved, imageRef, node } = facts;
  const { stopSignal } = container.lifecycle ?? {};
  const image = container.image ?? '';
  return {
    metadata: { name: container.name, attempt },
    image: { image: imageRef ?? image, userSpecifiedImage: image },
    command: resolved.command,
    args: resolved.args,
    envs: resolved.envs,
    workingDir: container.workingDir,
    labels: containerLabels(pod, container),
    annotations: containerAnnotations(pod, container, attempt),
    logPath: `${container.name}/${String(attempt)}.log`,
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    ...(stopSignal && !node && { stopSignal }),
    linux: containerLinux(facts),
  };
}

/** What a part of the node adds to the configuration of a container. */
export interface ContainerAdditions {
  readonly envs?: readonly KeyValue[];
  readonly mounts?: readonly Mount[];
  readonly devices?: readonly Device[];
  readonly cdiDevices?: ContainerConfig['cdiDevices'];
  /** Those of the agent itself stay. */
  readonly annotations?: ContainerConfig['annotations'];
  /** The container's CPUs and NUMA nodes of memory. With CPUs of its own it has no quota. */
  readonly resources?: Partial<Pick<LinuxContainerResources, 'cpusetCpus' | 'cpusetMems' | 'cpuQuota'>>;
}

/** As with the kubelet, variables of the spec come later, and so count where both have one. */
export function withAdditions(config: ContainerConfig, added: ContainerAdditions): ContainerConfig {
  const { envs = [], mounts, devices, cdiDevices, annotations, resources } = added;
  const { linux } = config;
  return {
    ...config,
    envs: [...envs, ...config.envs],
    ...(mounts && { mounts: [...(config.mounts ?? []), ...mounts] }),
    ...(devices && { devices: [...(config.devices ?? []), ...devices] }),
    ...(cdiDevices && { cdiDevices: [...(config.cdiDevices ?? []), ...cdiDevices] }),
    ...(annotations && { annotations: { ...annotations, ...config.annotations } }),
    ...(resources &&
      linux?.resources && { linux: { ...linux, resources: { ...linux.resources, ...resources } } }),
  };
}

function containerLinux(facts: ContainerConfigFacts): ContainerConfig['linux'] {
  const { pod, container, imageUser, targetId, node, resources: ofProcess } = facts;
  const limited = node ?? ofProcess;
  const resources = limited && { resources: containerResources(pod, container, limited) };
  if (!node) return { ...resources, securityContext: processSecurityContext(pod, container, imageUser) };
  return {
    ...resources,
    securityContext: containerSecurityContext(pod, container, { imageUser, targetId }, node),
  };
}

/**
 * The id of the container that an ephemeral container targets; undefined without a target. Throws a StateletError of kind
 * FailedPrecondition if the target has not been created.
 */
export function targetContainerId(
  container: Container | EphemeralContainer,
  podStatus: RuntimePodStatus,
): string | undefined {
  const target = 'targetContainerName' in container ? container.targetContainerName : undefined;
  if (!target) return undefined;
  const status = containerStatusByName(podStatus, target);
  if (status) return status.id;
  throw new StateletError('FailedPrecondition', `unable to find target container ${target}`);
}
