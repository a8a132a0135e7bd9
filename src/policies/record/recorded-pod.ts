/**
 * What the flight recorder keeps of a pod and of a container: what guards, assigns and the policies that charts call read of them, and by
 * what people know them. No environment, no command, no label, and of the annotations only where the pod came from.
 */
import type { Container, Pod } from '../../types/kubernetes.ts';
import { CONFIG_MIRROR_ANNOTATION, CONFIG_SOURCE_ANNOTATION } from '../pod/pod-kinds.ts';
import type { SeenContainer } from '../probes/probe.ts';

type ProbeField = `${'liveness' | 'readiness' | 'startup'}Probe`;

const PROBES: readonly ProbeField[] = ['livenessProbe', 'readinessProbe', 'startupProbe'];

export function isPod(value: object): value is Pod {
  if (!('metadata' in value) || !('spec' in value)) return false;
  const { metadata, spec } = value;
  if (typeof metadata !== 'object' || metadata === null || typeof spec !== 'object' || spec === null)
    return false;
  return 'uid' in metadata && 'containers' in spec && Array.isArray(spec.containers);
}

export function recordedPod({ metadata, spec, status }: Pod): unknown {
  const { name, namespace, uid, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  const { annotations } = metadata;
  const [source, mirror] = [annotations?.[CONFIG_SOURCE_ANNOTATION], annotations?.[CONFIG_MIRROR_ANNOTATION]];
  return {
    metadata: {
      name,
      namespace,
      uid,
      creationTimestamp,
      deletionTimestamp,
      deletionGracePeriodSeconds,
      ...((source ?? mirror) !== undefined && {
        annotations: { [CONFIG_SOURCE_ANNOTATION]: source, [CONFIG_MIRROR_ANNOTATION]: mirror },
      }),
    },
    spec: {
      priority: spec.priority,
      priorityClassName: spec.priorityClassName,
      restartPolicy: spec.restartPolicy,
      terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds,
      containers: spec.containers.map(({ name: container }) => ({ name: container })),
    },
    ...(status?.phase !== undefined && { status: { phase: status.phase } }),
  };
}

/** A container of a pod, or one as its status shows it. */
export function recordedContainer(container: Partial<Container & SeenContainer>): unknown {
  const { name, restartPolicy, restartPolicyRules } = container;
  const { id, started, state, startedAt, exitCode } = container as Readonly<Record<string, unknown>>;
  const probes = PROBES.filter((kind) => container[kind] != null);
  return {
    ...{ name, restartPolicy, restartPolicyRules, id, started, state, startedAt, exitCode },
    ...Object.fromEntries(probes.map((kind) => [kind, recordedProbe(container[kind])])),
  };
}

/** When it runs and what it takes to fail; not what it runs. */
function recordedProbe(probe: Container[ProbeField]): unknown {
  const { initialDelaySeconds, periodSeconds, timeoutSeconds, successThreshold, failureThreshold } =
    probe ?? {};
  return { initialDelaySeconds, periodSeconds, timeoutSeconds, successThreshold, failureThreshold };
}
