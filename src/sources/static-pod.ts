/** Makes a static pod of what a file or URL says: who it is, on which node, and what the API server would have filled in. */
import { createHash } from 'node:crypto';
import { canonicalJson } from '../policies/formats/canonical-json.ts';
import {
  CONFIG_HASH_ANNOTATION,
  CONFIG_MIRROR_ANNOTATION,
  CONFIG_SOURCE_ANNOTATION,
} from '../policies/pod/pod-kinds.ts';
import type { Pod, PodSpec } from '../types/kubernetes.ts';
import type { ManifestPod } from './manifests/read-manifest.ts';
import { withDefaults } from './defaults/pod-defaults.ts';

export interface StaticPodOrigin {
  readonly source: 'file' | 'http';
  /** Path or URL that the manifest was read from. */
  readonly location: string;
  readonly nodeName: string;
}

/**
 * Without a UID of its own the pod gets one from node, location and content: the same manifest in the same place is the
 * same pod whenever it is read, a changed one is another pod. The defaults are no part of it, so that a newer version of
 * the agent does not restart every pod. When it was first seen is noted by `podUpdates`. Deeply frozen.
 */
export function staticPod(manifest: ManifestPod, { source, location, nodeName }: StaticPodOrigin): Pod {
  const { metadata } = manifest;
  const uid = metadata.uid ?? contentUid(manifest, location, nodeName);
  return frozen({
    ...manifest,
    metadata: {
      ...metadata,
      uid,
      name: `${metadata.name}-${nodeName.toLowerCase()}`,
      namespace: metadata.namespace ?? 'default',
      annotations: {
        ...withoutMirror(metadata.annotations ?? {}),
        [CONFIG_SOURCE_ANNOTATION]: source,
        [CONFIG_HASH_ANNOTATION]: uid,
      },
    },
    spec: { ...withDefaults(manifest.spec), nodeName, tolerations: tolerations(manifest.spec) },
    status: { phase: 'Pending' },
  });
}

/** A manifest that was copied from a mirror pod is none itself. */
function withoutMirror(annotations: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => key !== CONFIG_MIRROR_ANNOTATION));
}

/** 32 hexadecimal digits, like the kubelet's. What the pod's status was when it was written down does not matter. */
function contentUid(manifest: ManifestPod, location: string, nodeName: string): string {
  const identity = canonicalJson([nodeName, location, { ...manifest, status: undefined }]);
  return createHash('md5').update(identity).digest('hex');
}

/** A static pod stays whatever becomes of its node: nobody would bring it back. */
function tolerations({ tolerations: own = [] }: PodSpec): NonNullable<PodSpec['tolerations']> {
  const everything = { operator: 'Exists', effect: 'NoExecute' };
  const others = own.filter(
    ({ key, value, operator, effect }) =>
      key !== undefined || value !== undefined || operator !== 'Exists' || effect !== 'NoExecute',
  );
  return [...others, everything];
}

export function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(frozen);
    Object.freeze(value);
  }
  return value;
}
