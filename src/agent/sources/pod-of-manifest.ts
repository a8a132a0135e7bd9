/** Makes a pod from the manifest of a file or URL: sets its identity, its node and the defaults of the API server. */
import { createHash } from 'node:crypto';
import { frozen } from '../../system/frozen.ts';
import { canonicalJson } from '../policies/formats/canonical-json.ts';
import {
  CONFIG_HASH_ANNOTATION,
  CONFIG_MIRROR_ANNOTATION,
  CONFIG_SOURCE_ANNOTATION,
  MANIFEST_HASH_ANNOTATION,
} from '../policies/pod/pod-kinds.ts';
import type { Pod, PodSpec } from '../../types/kubernetes.ts';
import type { Manifest, ManifestPod } from './manifests/read-manifest.ts';
import { withDefaults, withPriority } from './defaults/pod-defaults.ts';
import type { ManifestOrigin } from './source.ts';

/** What a manifest brings. */
export interface ManifestPods extends Omit<Manifest, 'pods'> {
  readonly pods: readonly Pod[];
}

export function manifestPod(manifest: ManifestPod, origin: ManifestOrigin): Pod {
  return origin.source === 'local' ? localPod(manifest, origin) : staticPod(manifest, origin);
}

/**
 * A pod without a UID gets one from node, location and content: the same manifest at the same location is always the same
 * pod, and a changed manifest is another pod. Defaults do not count, so that an agent with newer defaults does not restart
 * every pod. A pod with a UID of its own keeps it, and an annotation tells its versions apart. `podUpdates` notes when the pod was first seen. The result is deeply frozen.
 */
function staticPod(manifest: ManifestPod, { source, location, nodeName }: ManifestOrigin): Pod {
  const { metadata } = manifest;
  const hash = contentUid(manifest, location, nodeName);
  const uid = metadata.uid ?? hash;
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
        ...(uid !== hash && { [MANIFEST_HASH_ANNOTATION]: hash }),
      },
    },
    spec: {
      ...withDefaults(manifest.spec),
      nodeName,
      ...(source === 'file' && { tolerations: tolerations(manifest.spec) }),
    },
    status: { ...manifest.status, phase: 'Pending' },
  });
}

/**
 * An ordinary pod: with the name and the priority of its manifest, and a new UID whenever the manifest changes. As at the API server, a
 * UID and a status in the manifest do not count.
 */
function localPod(manifest: ManifestPod, { location, nodeName }: ManifestOrigin): Pod {
  const { metadata } = manifest;
  return frozen({
    ...manifest,
    metadata: {
      ...metadata,
      uid: contentUid(manifest, location, nodeName),
      namespace: metadata.namespace ?? 'default',
      annotations: {
        ...withoutMirror(metadata.annotations ?? {}),
        [CONFIG_SOURCE_ANNOTATION]: 'local',
      },
    },
    spec: { ...withPriority(withDefaults(manifest.spec)), nodeName },
    status: { phase: 'Pending' },
  });
}

/** A manifest may be a copy of a mirror pod: the static pod is no mirror pod. */
function withoutMirror(annotations: Readonly<Record<string, string>>): Record<string, string> {
  const isOfMirror = (key: string) => key === CONFIG_MIRROR_ANNOTATION || key === MANIFEST_HASH_ANNOTATION;
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !isOfMirror(key)));
}

/** 32 hexadecimal digits, like the kubelet's. A status in the manifest does not count. */
function contentUid(manifest: ManifestPod, location: string, nodeName: string): string {
  const identity = canonicalJson([nodeName, location, { ...manifest, status: undefined }]);
  return createHash('md5').update(identity).digest('hex');
}

/**
 * A pod of a file tolerates every NoExecute taint: nothing would start it again after an eviction. As with the kubelet, a pod of a
 * URL does not, and the toleration replaces the same one with a time.
 */
function tolerations({ tolerations: own = [] }: PodSpec): NonNullable<PodSpec['tolerations']> {
  const everything = { operator: 'Exists', effect: 'NoExecute' };
  const index = own.findIndex(
    ({ key, value, operator, effect }) =>
      key === undefined && value === undefined && operator === 'Exists' && effect === 'NoExecute',
  );
  return index === -1 ? [...own, everything] : own.with(index, everything);
}
