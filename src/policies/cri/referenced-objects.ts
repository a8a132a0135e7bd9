/** The ConfigMaps and Secrets that a pod refers to. */
import type { Pod } from '../../types/kubernetes.ts';
import { fileSources, podContainers, type Volume } from '../volumes/volume-source.ts';
import { envObjectNames } from './env-objects.ts';

/** All are in the pod's namespace. */
export interface ReferencedObjects {
  readonly configMaps: ReadonlySet<string>;
  readonly secrets: ReadonlySet<string>;
}

/**
 * The objects of its volumes, also of those that no container mounts, of the variables of its containers, and its pull secrets. The
 * node authorizer lets the node read these. A reference without a name refers to nothing.
 */
export function referencedObjects({ spec }: Pod): ReferencedObjects {
  const ofEnv = podContainers(spec).map(envObjectNames);
  const sources = (spec.volumes ?? []).filter(hasObjects).flatMap(fileSources);
  const pullSecrets = (spec.imagePullSecrets ?? []).map(({ name }) => name);
  return {
    configMaps: named([
      ...sources.map(({ configMap }) => configMap?.name),
      ...ofEnv.flatMap(({ configMaps }) => [...configMaps]),
    ]),
    secrets: named([
      ...sources.map(({ secret }) => secret?.name),
      ...ofEnv.flatMap(({ secrets }) => [...secrets]),
      ...pullSecrets,
    ]),
  };
}

function hasObjects({ configMap, secret, projected }: Volume): boolean {
  return (configMap ?? secret ?? projected) !== undefined;
}

function named(names: readonly (string | undefined)[]): ReadonlySet<string> {
  return new Set(names.filter((name) => name !== undefined && name !== '') as string[]);
}
