/** The defaults of the API server for volumes and field references. */
import type { V1ObjectFieldSelector, V1ResourceFieldSelector, V1Volume } from '@kubernetes/client-node';
import { defaultImagePullPolicy } from '../../policies/images/image-reference.ts';
import type { Json } from '../../../types/kubernetes.ts';
import { canonical } from './resource-defaults.ts';

type Volume = Json<V1Volume>;
type DownwardAPI = NonNullable<Volume['downwardAPI']>;
type Items = NonNullable<DownwardAPI['items']>;
type Projected = NonNullable<Volume['projected']>;

const FILE_MODE = 0o644;

export function withVolumeDefaults(volume: Volume): Volume {
  const { emptyDir, hostPath, downwardAPI, projected, image, configMap, secret } = volume;
  if (Object.keys(volume).length === 1) return { ...volume, emptyDir: {} };
  return {
    ...volume,
    ...(emptyDir && { emptyDir: withSize(emptyDir) }),
    ...(hostPath && { hostPath: { type: '', ...hostPath } }),
    ...(downwardAPI && { downwardAPI: withDownwardDefaults({ defaultMode: FILE_MODE, ...downwardAPI }) }),
    ...(projected && { projected: withProjectedDefaults(projected) }),
    ...(configMap && { configMap: { defaultMode: FILE_MODE, ...configMap } }),
    ...(secret && { secret: { defaultMode: FILE_MODE, ...secret } }),
    ...(image && {
      image: { ...image, pullPolicy: image.pullPolicy ?? defaultImagePullPolicy(image.reference ?? '') },
    }),
    ...networkDisks(volume),
  };
}

function withSize(emptyDir: NonNullable<Volume['emptyDir']>): NonNullable<Volume['emptyDir']> {
  const { sizeLimit } = emptyDir;
  return { ...emptyDir, ...(sizeLimit !== undefined && { sizeLimit: canonical(sizeLimit) }) };
}

function withProjectedDefaults(projected: Projected): Projected {
  const sources = projected.sources?.map((source) =>
    source.downwardAPI ? { ...source, downwardAPI: withDownwardDefaults(source.downwardAPI) } : source,
  );
  return { defaultMode: FILE_MODE, ...projected, ...(sources && { sources }) };
}

function withDownwardDefaults<T extends { readonly items?: Items }>(downwardAPI: T): T {
  const { items } = downwardAPI;
  return { ...downwardAPI, ...(items && { items: items.map(withItemDefaults) }) };
}

function withItemDefaults(item: Items[number]): Items[number] {
  const { fieldRef, resourceFieldRef } = item;
  return {
    ...item,
    ...(fieldRef && { fieldRef: withFieldRefDefaults(fieldRef) }),
    ...(resourceFieldRef && { resourceFieldRef: withResourceFieldRefDefaults(resourceFieldRef) }),
  };
}

export function withFieldRefDefaults(ref: Json<V1ObjectFieldSelector>): Json<V1ObjectFieldSelector> {
  const { apiVersion = '' } = ref;
  return { ...ref, apiVersion: apiVersion === '' ? 'v1' : apiVersion };
}

export function withResourceFieldRefDefaults(
  ref: Json<V1ResourceFieldSelector>,
): Json<V1ResourceFieldSelector> {
  return { ...ref, divisor: canonical(ref.divisor ?? '0') };
}

/** Kubelets do not mount these volumes any more; `/pods` shows them with the defaults of the API server. */
function networkDisks({ iscsi, rbd, azureDisk }: Volume): Partial<Volume> {
  return {
    ...(iscsi && { iscsi: { iscsiInterface: 'default', ...iscsi } }),
    ...(rbd && { rbd: { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring', ...rbd } }),
    ...(azureDisk && {
      azureDisk: { cachingMode: 'ReadWrite', fsType: 'ext4', kind: 'Shared', readOnly: false, ...azureDisk },
    }),
  };
}
