/** The objects of the cluster to which a pod's spec refers: those that the node authorizer lets its node read. */
import { isMirrorPod } from '../../policies/pod/pod-kinds.ts';
import { podContainers } from '../../policies/volumes/volume-source.ts';
import type { Pod, PodSpec } from '../../types/kubernetes.ts';

export type ContentResource = 'configmaps' | 'secrets';

export interface ContentReference {
  readonly resource: ContentResource;
  readonly namespace: string;
  readonly name: string;
}

/** `configmaps/default/settings`. */
export const referenceKey = ({ resource, namespace, name }: ContentReference): string =>
  `${resource}/${namespace}/${name}`;

/** Without those of mirror pods, which give a node no rights. An object may be named several times. */
export function referencesOf(pod: Pod): readonly ContentReference[] {
  if (isMirrorPod(pod)) return [];
  const { namespace } = pod.metadata;
  const { imagePullSecrets = [] } = pod.spec;
  const names = [
    ...volumeNames(pod.spec),
    ...variableNames(pod.spec),
    ...imagePullSecrets.map(({ name }) => ['secrets', name] as const),
  ];
  return names.flatMap(([resource, name = '']) => (name === '' ? [] : [{ resource, namespace, name }]));
}

type Named = readonly (readonly [resource: ContentResource, name: string | undefined])[];

function volumeNames({ volumes = [] }: PodSpec): Named {
  const ofVolumes = volumes.flatMap(({ configMap, secret }) => named(configMap, secret?.secretName));
  const sources = volumes.flatMap(({ projected }) => projected?.sources ?? []);
  return [...ofVolumes, ...sources.flatMap(({ configMap, secret }) => named(configMap, secret?.name))];
}

function variableNames(spec: PodSpec): Named {
  const containers = podContainers(spec);
  const whole = containers.flatMap(({ envFrom = [] }) => envFrom);
  const single = containers.flatMap(({ env = [] }) => env.flatMap(({ valueFrom }) => valueFrom ?? []));
  return [
    ...whole.flatMap(({ configMapRef, secretRef }) => named(configMapRef, secretRef?.name)),
    ...single.flatMap(({ configMapKeyRef, secretKeyRef }) => named(configMapKeyRef, secretKeyRef?.name)),
  ];
}

function named(configMap: { readonly name?: string } | undefined, secretName: string | undefined): Named {
  return [
    ['configmaps', configMap?.name],
    ['secrets', secretName],
  ];
}
