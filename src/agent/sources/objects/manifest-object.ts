/** ConfigMaps, Secrets and PersistentVolumeClaims of manifests, as an API server would store them. */
import { frozen } from '../../../system/frozen.ts';
import type { ConfigMap, PersistentVolumeClaim, Secret } from '../../../types/kubernetes.ts';

export const OBJECT_KINDS = ['ConfigMap', 'Secret', 'PersistentVolumeClaim'] as const;

export type ObjectKind = (typeof OBJECT_KINDS)[number];

export interface ObjectName {
  readonly kind: ObjectKind;
  readonly namespace: string;
  readonly name: string;
}

/** Secrets are among them: nothing of their contents may get into logs, events or errors. */
export type ManifestObject = ObjectName &
  (
    | { readonly kind: 'ConfigMap'; readonly object: ConfigMap }
    | { readonly kind: 'Secret'; readonly object: Secret }
    | { readonly kind: 'PersistentVolumeClaim'; readonly object: PersistentVolumeClaim }
  );

/** Of an object that keeps the rules of its kind. */
export type ObjectDocument = ConfigMap | Secret | PersistentVolumeClaim;

/** Two objects of one key are one object. */
export function objectKey({ kind, namespace, name }: ObjectName): string {
  return `${kind} ${namespace}/${name}`;
}

/** What stands in `stringData` is in `data` then. A status does not count. The result is deeply frozen. */
export function manifestObject(kind: ObjectKind, document: ObjectDocument): ManifestObject {
  const { name = '', namespace = 'default' } = document.metadata ?? {};
  const object = { ...document, metadata: { ...document.metadata, name, namespace }, status: undefined };
  const stored = kind === 'Secret' ? encoded(object) : object;
  return frozen({ kind, namespace, name, object: stored });
}

function encoded({ data = {}, stringData = {}, ...secret }: Secret): Secret {
  const texts = Object.entries(stringData).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
  return { ...secret, data: { ...data, ...(Object.fromEntries(texts) as Record<string, string>) } };
}
