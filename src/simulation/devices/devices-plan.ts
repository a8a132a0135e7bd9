/** Which devices simulated nodes have, and which pods ask for them. */
import type { Container, PodSpec } from '../../types/kubernetes.ts';
import type { KeyedRandom } from '../resources/growth.ts';
import { pick } from '../plugins/plugins-plan.ts';

export interface DevicesPlan {
  readonly resources: readonly DevicesOfNode[];
}

/** The devices of a resource on the machine. */
export interface DevicesOfNode {
  readonly resource: string;
  readonly ids: readonly string[];
  /** The NUMA node of a device. Undefined: plugins do not say. */
  readonly nodeOf?: (id: string) => number;
}

const SHARE = 0.4;
const RESOURCES = ['example.com/gpu', 'example.com/nic'];
const MAX_DEVICES = 5;
const ASKS = 0.5;
/** How many devices a container asks for. */
const COUNTS = [1, 1, 2];
const COUNTS_OF_OTHERS = [0, 0, 1];

/** Undefined for a node without devices. */
export function drawnDevices(random: KeyedRandom): DevicesPlan | undefined {
  if (random('devices') >= SHARE) return undefined;
  const names = random('devices/resources') < 0.5 ? RESOURCES : RESOURCES.slice(0, 1);
  return {
    resources: names.map((resource) => {
      const count = 1 + Math.floor(MAX_DEVICES * random(`devices/${resource}/count`));
      return {
        resource,
        ids: Array.from({ length: count }, (_, index) => `${resource}-${String(index + 1)}`),
      };
    }),
  };
}

/** The spec of a pod on such a node, by its UID. Half of the pods ask for devices: all of one resource, and some containers of several. */
export function withDevices(spec: PodSpec, uid: string, plan: DevicesPlan, random: KeyedRandom): PodSpec {
  const drawn = (what: string) => random(`devices/pod/${uid}/${what}`);
  if (drawn('asks') >= ASKS) return spec;
  const { resource } = pick(plan.resources, drawn('resource'));
  const [first, ...others] = spec.containers;
  const equipped = (container: Container, counts: readonly number[]) =>
    withDevice(container, resource, pick(counts, drawn(container.name)));
  return {
    ...spec,
    ...(spec.initContainers && {
      initContainers: spec.initContainers.map((container) => equipped(container, COUNTS_OF_OTHERS)),
    }),
    containers: [
      ...(first ? [equipped(first, COUNTS)] : []),
      ...others.map((container) => equipped(container, COUNTS_OF_OTHERS)),
    ],
  };
}

function withDevice(container: Container, resource: string, count: number): Container {
  if (count === 0) return container;
  const { requests, limits, ...rest } = container.resources ?? {};
  const amount = { [resource]: String(count) };
  const resources = { ...rest, requests: { ...requests, ...amount }, limits: { ...limits, ...amount } };
  return { ...container, resources };
}
