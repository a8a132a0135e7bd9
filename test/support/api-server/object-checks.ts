/** The server's answers to new objects and changes that it refuses, for all kinds. */
import type { AnyObject, Draft } from './context.ts';
import { dataCauses, metadataCauses } from './metadata-rules.ts';
import { nameCause } from './names.ts';
import { newPodCauses } from './new-pods.ts';
import type { ServedType } from './served-types.ts';
import { type Cause, invalid, invalidTwice, modified, wrongUID } from './status-error.ts';

interface Target {
  readonly type: ServedType;
  readonly namespace: string | undefined;
  readonly name: string;
}

/** Throws why the object cannot be created. */
export function checkNew(target: Target, made: Draft): void {
  const { type, name } = target;
  const cause = nameCause(type, name);
  const causes = [...(cause === undefined ? [] : [cause]), ...causesOf(type, made)];
  if (type.plural === 'pods') causes.push(...newPodCauses(made.spec as Draft));
  if (causes.length > 0) throw invalid(target, causes);
}

function causesOf(type: ServedType, object: Draft): Cause[] {
  const seconds =
    type.plural === 'leases' ? (object.spec?.leaseDurationSeconds as number | undefined) : undefined;
  return [
    ...metadataCauses(object.metadata as Draft),
    ...dataCauses(type, object),
    ...(seconds !== undefined && seconds <= 0
      ? [{ field: 'spec.leaseDurationSeconds', message: `Invalid value: ${seconds}: must be greater than 0` }]
      : []),
  ];
}

/** Throws the server's answer to a change of another object of the name. */
export function checkUID(target: Target, { metadata }: AnyObject, { uid, dryRun }: Draft): void {
  if (uid !== undefined && uid !== metadata.uid)
    throw wrongUID({ ...target, dryRun: dryRun === true }, String(uid), metadata.uid);
}

/** Throws the server's answer to a change of an object that has changed since, or to a forbidden change. */
export function checkChange(target: Target, before: AnyObject, next: Draft, version = ''): void {
  if (version !== '' && version !== before.metadata.resourceVersion) throw modified(target);
  const causes = causesOf(target.type, next);
  if (causes.length > 0) throw invalid(target, causes);
  checkFinalizers(target, before, next.metadata as Draft);
}

/** An object that is being deleted gets no more finalizers. */
function checkFinalizers(target: Target, { metadata }: AnyObject, { finalizers = [] }: Draft): void {
  const added = (finalizers as string[]).filter((name) => metadata.finalizers?.includes(name) !== true);
  if (metadata.deletionTimestamp === undefined || added.length === 0) return;
  const list = added.map((name) => JSON.stringify(name)).join(', ');
  const message = `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`;
  throw invalidTwice(target, { field: 'metadata.finalizers', message, reason: 'FieldValueForbidden' });
}
