/** The images, volumes, storage requests and storage limits of simulated pods. */
import type { Container, PodSpec } from '../../types/kubernetes.ts';
import type { SeededRandom } from './seeded-random.ts';

const IMAGES = 4;
const MAX_PARTS = 4;
const PART_MIB = 64;

/** The spec with images, volumes, storage requests and limits added. */
export function withStorage(spec: PodSpec, random: SeededRandom): PodSpec {
  const image = `registry.example/app:${String(random.integer(1, IMAGES))}`;
  const [first, ...others] = spec.containers.map((container) => withImage(container, image));
  if (first === undefined) return spec;
  const volumes = localVolumes(random);
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/mnt/${name}` }));
  return {
    ...spec,
    ...(spec.initContainers && {
      initContainers: spec.initContainers.map((container) => withImage(container, image)),
    }),
    containers: [{ ...first, ...resources(first, random), volumeMounts }, ...others],
    volumes,
  };
}

/** The image that cannot be pulled is kept. */
function withImage(container: Container, image: string): Container {
  return container.image?.includes('missing') === true ? container : { ...container, image };
}

/** Half of the pods have a volume, and half of the volumes have a limit. */
function localVolumes(random: SeededRandom): NonNullable<PodSpec['volumes']> {
  const sizeLimit = amount(random);
  switch (random.integer(1, 4)) {
    case 1:
      return [{ name: 'scratch', emptyDir: { sizeLimit } }];
    case 2:
      return [{ name: 'scratch', emptyDir: {} }];
    default:
      return [];
  }
}

/** Half of the pods request storage, and one in six is limited to twice its request. */
function resources({ resources: has }: Container, random: SeededRandom): Pick<Container, 'resources'> {
  const parts = random.integer(1, MAX_PARTS);
  const request = { 'ephemeral-storage': `${String(PART_MIB * parts)}Mi` };
  const limit = { 'ephemeral-storage': `${String(2 * PART_MIB * parts)}Mi` };
  const kind = random.integer(1, 6);
  if (kind > 3) return {};
  return {
    resources: {
      ...has,
      requests: { ...has?.requests, ...request },
      ...(kind === 1 && { limits: { ...has?.limits, ...limit } }),
    },
  };
}

function amount(random: SeededRandom): string {
  return `${String(PART_MIB * random.integer(1, MAX_PARTS))}Mi`;
}
