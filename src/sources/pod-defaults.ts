/**
 * What the API server would fill in before a node sees a pod. Manifests come without it. Only what is written nowhere else
 * is set: a value of the manifest stays as it is, but for quantities, which become texts.
 */
import { defaultImagePullPolicy } from '../policies/image-reference.ts';
import type { Container, Json, PodSpec } from '../types/kubernetes.ts';
import type {
  V1ContainerPort,
  V1EnvVar,
  V1HTTPGetAction,
  V1Lifecycle,
  V1Probe,
  V1Volume,
} from '@kubernetes/client-node';

type Probe = Json<V1Probe>;
type Volume = Json<V1Volume>;

const GRACE_PERIOD_SECONDS = 30;
const FILE_MODE = 0o644;

export function withDefaults(spec: PodSpec): PodSpec {
  const containerOf = (container: Container): Container =>
    withContainerDefaults(container, spec.hostNetwork ?? false);
  return {
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: GRACE_PERIOD_SECONDS,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
    enableServiceLinks: true,
    ...spec,
    ...(spec.volumes && { volumes: spec.volumes.map(withVolumeDefaults) }),
    ...(spec.overhead && { overhead: quantities(spec.overhead) }),
    ...(spec.resources && { resources: withRequests(spec.resources) }),
    ...(spec.initContainers && { initContainers: spec.initContainers.map(containerOf) }),
    containers: spec.containers.map(containerOf),
  };
}

function withContainerDefaults(container: Container, hostNetwork: boolean): Container {
  const { env, ports, lifecycle, livenessProbe, readinessProbe, startupProbe } = container;
  return {
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: defaultImagePullPolicy(container.image ?? ''),
    ...container,
    resources: withRequests(container.resources ?? {}),
    ...(env && { env: env.map(withEnvDefaults) }),
    ...(ports && { ports: ports.map((port) => withPortDefaults(port, hostNetwork)) }),
    ...(lifecycle && { lifecycle: withLifecycleDefaults(lifecycle) }),
    ...(livenessProbe && { livenessProbe: withProbeDefaults(livenessProbe) }),
    ...(readinessProbe && { readinessProbe: withProbeDefaults(readinessProbe) }),
    ...(startupProbe && { startupProbe: withProbeDefaults(startupProbe) }),
  };
}

type Resources = NonNullable<Container['resources']>;

/** A resource that has only a limit requests as much. */
function withRequests(resources: Resources): Resources {
  const { limits, requests } = resources;
  return {
    ...resources,
    ...(limits && { limits: quantities(limits) }),
    ...((limits ?? requests) && { requests: quantities({ ...limits, ...requests }) }),
  };
}

/** Manifests may leave out the quotes: `cpu: 0.5`. */
function quantities(amounts: Readonly<Record<string, string | number>>): Record<string, string> {
  return Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, String(amount)]));
}

function withPortDefaults(port: Json<V1ContainerPort>, hostNetwork: boolean): Json<V1ContainerPort> {
  return { protocol: 'TCP', ...port, ...(hostNetwork && { hostPort: port.containerPort }) };
}

function withEnvDefaults(variable: Json<V1EnvVar>): Json<V1EnvVar> {
  const fieldRef = variable.valueFrom?.fieldRef;
  if (!fieldRef) return variable;
  return { ...variable, valueFrom: { ...variable.valueFrom, fieldRef: { apiVersion: 'v1', ...fieldRef } } };
}

function withLifecycleDefaults(lifecycle: Json<V1Lifecycle>): Json<V1Lifecycle> {
  const { postStart, preStop } = lifecycle;
  return {
    ...lifecycle,
    ...(postStart?.httpGet && { postStart: { ...postStart, httpGet: withHttpDefaults(postStart.httpGet) } }),
    ...(preStop?.httpGet && { preStop: { ...preStop, httpGet: withHttpDefaults(preStop.httpGet) } }),
  };
}

/** In a probe 0 stands for "not set". */
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
  return { path: '/', scheme: 'HTTP', ...action };
}

function withVolumeDefaults(volume: Volume): Volume {
  const { emptyDir, hostPath, downwardAPI, projected } = volume;
  if (Object.keys(volume).length === 1) return { ...volume, emptyDir: {} };
  return {
    ...volume,
    ...(emptyDir && { emptyDir: withSizeAsText(emptyDir) }),
    ...(hostPath && { hostPath: { type: '', ...hostPath } }),
    ...(downwardAPI && { downwardAPI: { defaultMode: FILE_MODE, ...downwardAPI } }),
    ...(projected && { projected: { defaultMode: FILE_MODE, ...projected } }),
  };
}

function withSizeAsText(emptyDir: NonNullable<Volume['emptyDir']>): NonNullable<Volume['emptyDir']> {
  const sizeLimit: string | number | undefined = emptyDir.sizeLimit;
  return { ...emptyDir, ...(sizeLimit !== undefined && quantities({ sizeLimit })) };
}
