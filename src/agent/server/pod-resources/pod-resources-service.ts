/** Answers the methods of the PodResources API. */
import { type GrpcServer, grpcServer, servedMethod } from '../../../system/grpc/grpc-server.ts';
import { StateletError } from '../../../types/errors.ts';
import type { Container, Pod } from '../../../types/kubernetes.ts';
import type { PodResourcesMeasurements } from '../../../types/measurements.ts';
import type {
  HeldClaim,
  HeldDevices,
  HeldMemory,
  HeldResources,
  ResourceHolders,
} from '../../../types/pod-resources.ts';
import { isRestartableInitContainer } from '../../policies/pod-actions/restart.ts';
import {
  type ContainerDevices,
  type ContainerMemory,
  type DynamicResource,
  GET,
  GET_ALLOCATABLE,
  LIST,
  LIST_ALPHA,
  type PodResources,
} from './pod-resources-messages.ts';
import { takeToken, type TokenBucket } from '../../policies/formats/token-bucket.ts';

/** As the kubelet limits requests, over all clients and methods. Others are refused at once. */
const REQUEST_LIMIT = { perSecond: 100, burst: 10 };

export interface PodResourcesParts {
  /** Pods that have not ended. */
  readonly activePods: () => readonly Pod[];
  /** All that the sources want, without mirror pods. */
  readonly pods: () => readonly Pod[];
  readonly pod: (namespace: string, name: string) => Pod | undefined;
  readonly holders: ResourceHolders;
  readonly measurements: PodResourcesMeasurements | undefined;
  /** Unix ms. */
  readonly now: () => number;
}

export function podResourcesServer(parts: PodResourcesParts): GrpcServer {
  const { holders, measurements, now } = parts;
  let bucket: TokenBucket | undefined;
  const methods = [
    servedMethod(LIST, () => {
      measurements?.asked('v1', 'list');
      return Promise.resolve({ podResources: parts.activePods().map((pod) => resourcesOf(pod, holders)) });
    }),
    servedMethod(GET_ALLOCATABLE, () => {
      measurements?.asked('v1', 'get_allocatable');
      return Promise.resolve(shown(holders.allocatable()));
    }),
    servedMethod(GET, ({ podName, podNamespace }) => {
      measurements?.asked('v1', 'get');
      const pod = parts.pod(podNamespace, podName);
      if (pod !== undefined) return Promise.resolve({ podResources: resourcesOf(pod, holders) });
      measurements?.failed('v1');
      throw new StateletError('Unknown', `pod ${podName} in namespace ${podNamespace} not found`);
    }),
    servedMethod(LIST_ALPHA, () => {
      measurements?.asked('v1alpha1');
      return Promise.resolve({ podResources: parts.pods().map((pod) => devicesOf(pod, holders)) });
    }),
  ];
  return grpcServer(
    methods.map((method) => ({
      path: method.path,
      answer: (request) => {
        const left = takeToken(bucket, now(), REQUEST_LIMIT);
        bucket = left ?? bucket;
        if (left) return method.answer(request);
        return Promise.reject(new StateletError('ResourceExhausted', 'rejected by rate limit'));
      },
    })),
  );
}

function resourcesOf(pod: Pod, holders: ResourceHolders): PodResources {
  const { spec } = pod;
  const sidecars = (spec.initContainers ?? []).filter(isRestartableInitContainer);
  return podResources(pod, [...sidecars, ...spec.containers], (container) => {
    const held = holders.ofContainer(pod, container);
    return { ...shown(held), dynamicResources: held.claims.map(shownClaim) };
  });
}

/** As v1alpha1 knows it. */
function devicesOf(pod: Pod, holders: ResourceHolders): PodResources {
  return podResources(pod, pod.spec.containers, (container) => {
    const { devices } = shown(holders.ofContainer(pod, container));
    const withoutTopology = devices.map((some) => ({ ...some, topology: undefined }));
    return { devices: withoutTopology, cpuIDs: [], memory: [], dynamicResources: [] };
  });
}

function podResources(
  { metadata: { name, namespace } }: Pod,
  containers: readonly Container[],
  held: (container: Container) => Omit<PodResources['containers'][number], 'name'>,
): PodResources {
  const listed = containers.map((container) => ({ name: container.name, ...held(container) }));
  return { name, namespace, containers: listed };
}

function shown({ devices, cpuIDs, memory }: HeldResources) {
  return { devices: devices.flatMap(shownDevices), cpuIDs, memory: memory.map(shownMemory) };
}

/** As with the kubelet each device stands alone, and once for each NUMA node that it is near to. */
function shownDevices({ resourceName, deviceIDs, numaNodes }: HeldDevices): readonly ContainerDevices[] {
  const topologies = numaNodes?.map((node) => topologyOf([node])) ?? [undefined];
  return deviceIDs.flatMap((id) =>
    topologies.map((topology) => ({ resourceName, deviceIDs: [id], topology })),
  );
}

function shownClaim({ name, namespace, drivers }: HeldClaim): DynamicResource {
  const claimResources = Object.entries(drivers).flatMap(([driverName, devices]) =>
    devices.map(({ pool, device, shareId, cdiIds }) => ({
      cdiDevices: cdiIds.map((id) => ({ name: id })),
      driverName,
      poolName: pool,
      deviceName: device,
      shareId,
    })),
  );
  return { claimName: name, claimNamespace: namespace, claimResources };
}

function shownMemory({ memoryType, sizeBytes, numaNodes }: HeldMemory): ContainerMemory {
  return { memoryType, size: sizeBytes, topology: topologyOf(numaNodes) };
}

function topologyOf(numaNodes: readonly number[]) {
  return { nodes: numaNodes.map((ID) => ({ ID })) };
}
