/** What a runtime is told to make a container of. */
import type { ContainerConfig, Device, KeyValue } from '../../types/cri.ts';
import { StateletError } from '../../types/errors.ts';
import type { Container, EphemeralContainer, Pod } from '../../types/kubernetes.ts';
import type { RuntimePodStatus } from '../../types/runtime-pod.ts';
import { containerAnnotations, containerLabels } from './cri-labels.ts';
import { type ContainerResourceFacts, containerResources } from './linux-resources.ts';
import { containerStatusByName } from '../sync/restart.ts';
import {
  containerSecurityContext,
  type ImageUser,
  processSecurityContext,
  type SecurityFacts,
} from '../security/security-context.ts';

/** What a container gets to run, once references and `$(VAR)` have been resolved. */
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
  /** What the runtime calls the image; without it, what the pod says. */
  readonly imageRef?: string;
  /** Without it nothing is known of the image's user. */
  readonly imageUser?: ImageUser;
  readonly devices?: readonly Device[];
  /** Without it the container is a plain process: only what such a one can be held to is said. */
  readonly node?: ContainerFacts;
  /** The container whose processes an ephemeral one is to see. */
  readonly targetId?: string;
}

/** Without its mounts. Throws a StateletError of kind InvalidArgument for what makes a CreateContainerConfigError. */
export function containerConfig(facts: ContainerConfigFacts): ContainerConfig {
  const { pod, container, attempt, resolved, imageRef, devices, node } = facts;
  const { stopSignal } = container.lifecycle ?? {};
  const image = container.image ?? '';
  return {
    metadata: { name: container.name, attempt },
    image: { image: imageRef ?? image, userSpecifiedImage: image },
    ...resolved,
    workingDir: container.workingDir,
    ...(devices && { devices }),
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

function containerLinux(facts: ContainerConfigFacts): ContainerConfig['linux'] {
  const { pod, container, imageUser, targetId, node } = facts;
  if (!node) return { securityContext: processSecurityContext(pod, container, imageUser) };
  return {
    resources: containerResources(pod, container, node),
    securityContext: containerSecurityContext(pod, container, { imageUser, targetId }, node),
  };
}

/**
 * The id of the container that an ephemeral one targets; undefined where it targets none. Throws a StateletError of kind
 * FailedPrecondition where the target has not been created.
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
