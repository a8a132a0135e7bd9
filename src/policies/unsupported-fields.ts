import type { Container, Pod } from '../types/kubernetes.ts';

const OF_CONTAINER = [
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'volumeMounts',
  'volumeDevices',
] as const satisfies readonly (keyof Container)[];

/** Fields of the pod that are valid and have no effect yet, by path: whoever counts on them must be told. */
export function unsupportedFields({ spec }: Pod): readonly string[] {
  const containers = [
    ...spec.containers.map((container) => ({ list: 'containers', container })),
    ...(spec.initContainers ?? []).map((container) => ({ list: 'initContainers', container })),
  ];
  return [
    ...(spec.activeDeadlineSeconds == null ? [] : ['spec.activeDeadlineSeconds']),
    ...(spec.volumes?.length ? ['spec.volumes'] : []),
    ...containers.flatMap(({ list, container }) => ofContainer(`spec.${list}[${container.name}]`, container)),
  ];
}

function ofContainer(path: string, container: Container): string[] {
  const fields = OF_CONTAINER.filter((field) => isGiven(container[field])).map((field) => `${path}.${field}`);
  return container.resources?.limits ? [...fields, `${path}.resources.limits`] : fields;
}

function isGiven(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value != null;
}
