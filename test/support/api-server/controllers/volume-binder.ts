import { parseQuantity, quantityValue } from '../../../../src/agent/policies/formats/quantity.ts';
import { LOOPBACK } from '../bootstrap.ts';
import type { AnyObject, Draft } from '../context.ts';
import { typeOf } from '../served-types.ts';
import type { ControllerHost } from './controllers.ts';

const CLAIMS = 'persistentvolumeclaims';
const VOLUMES = 'persistentvolumes';

/** Binds claims to volumes, and removes deleted claims that are not used any more. */
export function bindClaims(host: ControllerHost): void {
  for (const volume of host.store.list(VOLUMES) as AnyObject[]) keepVolume(host, volume);
  for (const pod of host.store.list('pods') as AnyObject[])
    if (pod.metadata.deletionTimestamp === undefined) makeClaims(host, pod);
  for (const claim of host.store.list(CLAIMS) as AnyObject[]) {
    if (claim.metadata.deletionTimestamp !== undefined) release(host, claim);
    else if (claim.status?.phase !== 'Bound') bindClaim(host, claim);
  }
}

/** The claims of ephemeral volumes belong to their pod. */
function makeClaims({ objects }: ControllerHost, { metadata, spec }: AnyObject): void {
  for (const volume of (spec.volumes ?? []) as Draft[]) {
    if (volume.ephemeral === undefined) continue;
    const { metadata: wished = {}, spec: claim } = volume.ephemeral.volumeClaimTemplate as Draft;
    const { namespace, name: podName, uid } = metadata;
    const target = { type: typeOf(CLAIMS), namespace, name: `${podName}-${String(volume.name)}` };
    if (objects.find(target) !== undefined) continue;
    const owner = {
      apiVersion: 'v1',
      kind: 'Pod',
      name: podName,
      uid,
      controller: true,
      blockOwnerDeletion: true,
    };
    const made = {
      metadata: { ...wished, name: target.name, ownerReferences: [owner] },
      spec: claim as Draft,
    };
    objects.create(target, made, { user: LOOPBACK });
  }
}

function keepVolume(host: ControllerHost, volume: AnyObject): void {
  const ref = volume.spec.claimRef as Draft | undefined;
  const claim = ref === undefined ? undefined : claimOf(host, ref);
  const isTaken = ref?.uid !== undefined;
  const phase = !isTaken ? 'Available' : claim?.metadata.uid === ref.uid ? 'Bound' : 'Released';
  if (volume.metadata.deletionTimestamp !== undefined && phase !== 'Bound') {
    removeFinalizers(host, VOLUMES, volume);
    return;
  }
  if (volume.status?.phase !== phase)
    change(host, VOLUMES, volume, { status: { ...volume.status, phase } }, 'status');
}

function claimOf({ store }: ControllerHost, { namespace, name }: Draft): AnyObject | undefined {
  return store.get(CLAIMS, { namespace: String(namespace), name: String(name) });
}

function bindClaim(host: ControllerHost, claim: AnyObject): void {
  const volume = (host.store.list(VOLUMES) as AnyObject[]).find((one) => fits(one, claim));
  if (volume === undefined) return;
  const { namespace, name, uid, resourceVersion } = claim.metadata;
  const claimRef = { kind: 'PersistentVolumeClaim', apiVersion: 'v1', namespace, name, uid, resourceVersion };
  const bound = change(host, VOLUMES, volume, { spec: { ...volume.spec, claimRef } });
  change(host, VOLUMES, bound, { status: { ...bound.status, phase: 'Bound' } }, 'status');
  const named = change(host, CLAIMS, claim, { spec: { ...claim.spec, volumeName: volume.metadata.name } });
  const { accessModes, capacity } = volume.spec as Draft;
  change(host, CLAIMS, named, { status: { phase: 'Bound', accessModes, capacity } }, 'status');
}

function fits({ metadata, spec }: AnyObject, claim: AnyObject): boolean {
  const wish = claim.spec as Draft;
  const ref = spec.claimRef as Draft | undefined;
  const isMeant = ref?.namespace === claim.metadata.namespace && ref?.name === claim.metadata.name;
  if (ref !== undefined && !(isMeant && (ref.uid === undefined || ref.uid === claim.metadata.uid)))
    return false;
  if (wish.volumeName !== undefined && wish.volumeName !== '') return wish.volumeName === metadata.name;
  const sizeOf = (text: unknown) => quantityValue(parseQuantity(String(text ?? '0')));
  return (
    metadata.deletionTimestamp === undefined &&
    (wish.storageClassName ?? '') === (spec.storageClassName ?? '') &&
    ((wish.accessModes ?? []) as string[]).every((mode) =>
      ((spec.accessModes ?? []) as string[]).includes(mode),
    ) &&
    sizeOf(spec.capacity?.storage) >= sizeOf(wish.resources?.requests?.storage)
  );
}

function release(host: ControllerHost, claim: AnyObject): void {
  const isUsed = (host.store.list('pods') as AnyObject[]).some(
    ({ metadata, spec, status }) =>
      metadata.namespace === claim.metadata.namespace &&
      !['Succeeded', 'Failed'].includes(String(status?.phase)) &&
      ((spec.volumes ?? []) as Draft[]).some(
        ({ persistentVolumeClaim: named }) => named?.claimName === claim.metadata.name,
      ),
  );
  if (!isUsed) removeFinalizers(host, CLAIMS, claim);
}

function removeFinalizers(host: ControllerHost, key: string, object: AnyObject): void {
  const finalizers = (object.metadata.finalizers ?? []).filter((name) => !name.startsWith('kubernetes.io/'));
  change(host, key, object, { metadata: { ...object.metadata, finalizers } });
}

function change(
  { objects }: ControllerHost,
  key: string,
  object: AnyObject,
  fields: Draft,
  subresource = '',
): AnyObject {
  const { namespace, name } = object.metadata;
  const target = { type: typeOf(key), namespace, name };
  return objects.change(target, object, { ...object, ...fields }, { user: LOOPBACK, subresource });
}
