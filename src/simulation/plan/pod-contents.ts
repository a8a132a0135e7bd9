/** The volumes and variables of simulated pods that come from ConfigMaps and Secrets. */
import type { Container, PodSpec } from '../../types/kubernetes.ts';
import { CONFIG_NAMES, KEYS, SECRET_NAMES } from './content-changes.ts';
import type { SeededRandom } from './seeded-random.ts';

type Volume = NonNullable<PodSpec['volumes']>[number];
type Variables = Pick<Container, 'env' | 'envFrom'>;

/** No object has this name: a pod that requires it never starts. */
const MISSING = 'missing';
const CONTENTS = 'contents';

/** The spec with contents added to one pod in three: files in its first container or its first init container, and variables. */
export function withContents(spec: PodSpec, random: SeededRandom): PodSpec {
  const [first, ...others] = spec.containers;
  if (first === undefined || random.next() >= 0.35) return spec;
  const volumes = random.next() < 0.75 ? [contents(random)] : [];
  const mounts = volumes.map(({ name }) => ({ name, mountPath: `/mnt/${name}` }));
  const [init, ...inits] = spec.initContainers ?? [];
  const isForInit = init !== undefined && random.next() < 0.5;
  const variables = random.next() < 0.5 ? variablesOf(random) : {};
  const withMounts = (one: Container): Container => ({
    ...one,
    volumeMounts: [...(one.volumeMounts ?? []), ...mounts],
  });
  return {
    ...spec,
    ...(isForInit && { initContainers: [withMounts(init), ...inits] }),
    containers: [{ ...(isForInit ? first : withMounts(first)), ...variables }, ...others],
    volumes: [...(spec.volumes ?? []), ...volumes],
  };
}

/** The same spec for a pod that no API server knows. */
export function withoutContents({ volumes, initContainers, containers, ...spec }: PodSpec): PodSpec {
  const plain = ({ volumeMounts, ...container }: Container): Container => ({
    ...container,
    env: [],
    envFrom: [],
    ...(volumeMounts && { volumeMounts: volumeMounts.filter(({ name }) => name !== CONTENTS) }),
  });
  return {
    ...spec,
    ...(initContainers && { initContainers: initContainers.map(plain) }),
    containers: containers.map(plain),
    ...(volumes && { volumes: volumes.filter(({ name }) => name !== CONTENTS) }),
  };
}

/** Each such volume that the API server serves has one. */
const defaultMode = 0o644;

function contents(random: SeededRandom): Volume {
  const config = reference(CONFIG_NAMES, random);
  const { name: secretName, ...ofSecret } = reference(SECRET_NAMES, random);
  const name = CONTENTS;
  const key = random.pick(KEYS);
  switch (random.integer(1, 5)) {
    case 1:
      return { name, configMap: { ...config, defaultMode } };
    case 2:
      return { name, configMap: { ...config, defaultMode, items: [{ key, path: `config/${key}` }] } };
    case 3:
      return { name, secret: { secretName, ...ofSecret, defaultMode } };
    default:
      return { name, projected: { defaultMode, sources: projections(random) } };
  }
}

function projections(random: SeededRandom) {
  const items = (folder: string) => [{ key: random.pick(KEYS), path: `${folder}/file` }];
  return [
    { configMap: { ...reference(CONFIG_NAMES, random), items: items('config') } },
    { secret: { ...reference(SECRET_NAMES, random), items: items('secret') } },
    { downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
  ];
}

function variablesOf(random: SeededRandom): Variables {
  const key = random.pick(KEYS);
  switch (random.integer(1, 4)) {
    case 1:
      return { envFrom: [{ prefix: 'ALL_', configMapRef: reference(CONFIG_NAMES, random) }] };
    case 2:
      return { envFrom: [{ secretRef: reference(SECRET_NAMES, random) }] };
    case 3:
      return variable({ configMapKeyRef: { ...reference(CONFIG_NAMES, random), key } });
    default:
      return variable({ secretKeyRef: { ...reference(SECRET_NAMES, random), key } });
  }
}

const variable = (valueFrom: NonNullable<NonNullable<Container['env']>[number]['valueFrom']>): Variables => ({
  env: [{ name: 'VALUE', valueFrom }],
});

/** One reference in three is optional, and one in thirty names an object that never is there. */
function reference(names: readonly string[], random: SeededRandom): { name: string; optional?: boolean } {
  const name = random.next() < 1 / 30 ? MISSING : random.pick(names);
  return { name, ...(random.next() < 1 / 3 && { optional: true }) };
}
