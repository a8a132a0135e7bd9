/**
 * The defaults that the API server sets on a pod. Manifests come without them. A value of the manifest stays; only quantities
 * are brought into their canonical form.
 */
import type {
  V1ContainerPort,
  V1EnvVar,
  V1HTTPGetAction,
  V1Lifecycle,
  V1Probe,
} from '@kubernetes/client-node';
import { defaultImagePullPolicy } from '../../policies/images/image-reference.ts';
import type { Container, Json, PodSpec } from '../../../types/kubernetes.ts';
import { canonicalAmounts, withContainerResources, withPodResources } from './resource-defaults.ts';
import { withFieldRefDefaults, withResourceFieldRefDefaults, withVolumeDefaults } from './volume-defaults.ts';

type Probe = Json<V1Probe>;

const GRACE_PERIOD_SECONDS = 30;
/** In place of a negative grace period. */
const GRACE_PERIOD_SECONDS_MIN = 1;

/** `fields` with `defaults` for those that are not set. An empty text means not set. */
function over<D extends object, F extends object>(defaults: D, fields: F): D & F {
  const empty = Object.keys(defaults).filter((name) => (fields as Record<string, unknown>)[name] === '');
  const unset = Object.fromEntries(empty.map((name) => [name, (defaults as Record<string, unknown>)[name]]));
  return { ...defaults, ...fields, ...unset };
}

export function withDefaults(spec: PodSpec): PodSpec {
  const containerOf = (container: Container): Container =>
    withContainerDefaults(container, spec.hostNetwork ?? false);
  const { terminationGracePeriodSeconds: graceSeconds = GRACE_PERIOD_SECONDS } = spec;
  const withContainers: PodSpec = {
    ...over(DEFAULTS, spec),
    ...(graceSeconds < 0 && { terminationGracePeriodSeconds: GRACE_PERIOD_SECONDS_MIN }),
    ...(spec.volumes && { volumes: spec.volumes.map(withVolumeDefaults) }),
    ...(spec.overhead && { overhead: canonicalAmounts(spec.overhead) }),
    ...(spec.initContainers && { initContainers: spec.initContainers.map(containerOf) }),
    containers: spec.containers.map(containerOf),
  };
  return spec.resources
    ? { ...withContainers, resources: withPodResources(spec.resources, withContainers) }
    : withContainers;
}

const DEFAULTS = {
  restartPolicy: 'Always',
  terminationGracePeriodSeconds: GRACE_PERIOD_SECONDS,
  dnsPolicy: 'ClusterFirst',
  securityContext: {},
  schedulerName: 'default-scheduler',
  enableServiceLinks: true,
};

function withContainerDefaults(container: Container, hostNetwork: boolean): Container {
  const { env, ports, lifecycle, livenessProbe, readinessProbe, startupProbe } = container;
  const defaults = {
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: defaultImagePullPolicy(container.image ?? ''),
  };
  return {
    ...over(defaults, container),
    resources: withContainerResources(container.resources ?? {}),
    ...(env && { env: env.map(withEnvDefaults) }),
    ...(ports && { ports: ports.map((port) => withPortDefaults(port, hostNetwork)) }),
    ...(lifecycle && { lifecycle: withLifecycleDefaults(lifecycle) }),
    ...(livenessProbe && { livenessProbe: withProbeDefaults(livenessProbe) }),
    ...(readinessProbe && { readinessProbe: withProbeDefaults(readinessProbe) }),
    ...(startupProbe && { startupProbe: withProbeDefaults(startupProbe) }),
  };
}

function withPortDefaults(port: Json<V1ContainerPort>, hostNetwork: boolean): Json<V1ContainerPort> {
  return {
    ...over({ protocol: 'TCP' }, port),
    ...(hostNetwork && !port.hostPort && { hostPort: port.containerPort }),
  };
}

function withEnvDefaults(variable: Json<V1EnvVar>): Json<V1EnvVar> {
  if (!variable.valueFrom) return variable;
  const { fieldRef, resourceFieldRef, fileKeyRef } = variable.valueFrom;
  return {
    ...variable,
    valueFrom: {
      ...variable.valueFrom,
      ...(fieldRef && { fieldRef: withFieldRefDefaults(fieldRef) }),
      ...(resourceFieldRef && { resourceFieldRef: withResourceFieldRefDefaults(resourceFieldRef) }),
      ...(fileKeyRef && { fileKeyRef: { optional: false, ...fileKeyRef } }),
    },
  };
}

function withLifecycleDefaults(lifecycle: Json<V1Lifecycle>): Json<V1Lifecycle> {
  const { postStart, preStop } = lifecycle;
  return {
    ...lifecycle,
    ...(postStart?.httpGet && { postStart: { ...postStart, httpGet: withHttpDefaults(postStart.httpGet) } }),
    ...(preStop?.httpGet && { preStop: { ...preStop, httpGet: withHttpDefaults(preStop.httpGet) } }),
  };
}

/** In a probe, 0 means not set. */
function orDefault(value: number | undefined, fallback: number): number {
  return value === undefined || value === 0 ? fallback : value;
}

function withProbeDefaults(probe: Probe): Probe {
  return {
    ...probe,
    timeoutSeconds: orDefault(probe.timeoutSeconds, 1),
    periodSeconds: orDefault(probe.periodSeconds, 10),
    successThreshold: orDefault(probe.successThreshold, 1),
    failureThreshold: orDefault(probe.failureThreshold, 3),
    ...(probe.httpGet && { httpGet: withHttpDefaults(probe.httpGet) }),
    ...(probe.grpc && { grpc: { service: '', ...probe.grpc } }),
  };
}

function withHttpDefaults(action: Json<V1HTTPGetAction>): Json<V1HTTPGetAction> {
  return over({ path: '/', scheme: 'HTTP' }, action);
}

const KNOWN_PRIORITIES: Readonly<Record<string, number>> = {
  'system-node-critical': 2_000_001_000,
  'system-cluster-critical': 2_000_000_000,
};

const KNOWN_CLASSES = Object.keys(KNOWN_PRIORITIES).join(' and ');

/** The API server takes the priority from the PriorityClass; here only the two classes of every cluster are known. */
export function withPriority(spec: PodSpec): PodSpec {
  const { priorityClassName = '', priority = KNOWN_PRIORITIES[priorityClassName] ?? 0 } = spec;
  return { preemptionPolicy: 'PreemptLowerPriority', ...spec, priority };
}

/** What is wrong with the priority of a spec, which need not fit the schema. */
export function priorityProblem({
  priorityClassName,
  priority,
}: Readonly<Record<string, unknown>>): { readonly field: string; readonly message: string } | undefined {
  if (typeof priorityClassName !== 'string' || priorityClassName === '') return undefined;
  const known = KNOWN_PRIORITIES[priorityClassName];
  if (known === undefined && priority === undefined) {
    const message = `"${priorityClassName}" is not known without an API server (known are ${KNOWN_CLASSES}): add its number as spec.priority`;
    return { field: 'priorityClassName', message };
  }
  if (known === undefined || priority === undefined || priority === known) return undefined;
  return { field: 'priority', message: `must be that of ${priorityClassName}, ${known}, or be left out` };
}
