import type { Container, Pod } from '../types/kubernetes.ts';

/** What a node cannot give to a pod: fields of containers, by their names. */
export interface NodeLimits {
  readonly ofContainers: readonly (keyof Container)[];
  readonly volumes: boolean;
  readonly limits: boolean;
}

/** Plain processes share the machine's file system and resources. */
export const EMBEDDED_LIMITS: NodeLimits = {
  ofContainers: ['volumeMounts', 'volumeDevices'],
  volumes: false,
  limits: false,
};

export const CRI_LIMITS: NodeLimits = { ofContainers: ['volumeDevices'], volumes: true, limits: true };

/** Fields of the pod that are valid and have no effect on this node, by path: whoever counts on them must be told. */
export function unsupportedFields({ spec }: Pod, node: NodeLimits): readonly string[] {
  const containers = [
    ...spec.containers.map((container) => ({ list: 'containers', container })),
    ...(spec.initContainers ?? []).map((container) => ({ list: 'initContainers', container })),
  ];
  return [
    ...(spec.volumes?.length && !node.volumes ? ['spec.volumes'] : []),
    ...containers.flatMap(({ list, container }) =>
      ofContainer(`spec.${list}[${container.name}]`, container, node),
    ),
  ];
}

function ofContainer(path: string, container: Container, { ofContainers, limits }: NodeLimits): string[] {
  const fields = ofContainers.filter((field) => isGiven(container[field])).map((field) => `${path}.${field}`);
  return container.resources?.limits && !limits ? [...fields, `${path}.resources.limits`] : fields;
}

function isGiven(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value != null;
}
