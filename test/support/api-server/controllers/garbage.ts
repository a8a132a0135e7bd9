import { without } from '../../../../src/agent/policies/formats/canonical-json.ts';
import { LOOPBACK } from '../bootstrap.ts';
import type { AnyObject } from '../context.ts';
import { type ServedType, storedTypes, storeKey } from '../served-types.ts';
import type { ControllerHost } from './controllers.ts';

const OPTIONS = { user: LOOPBACK };
const FOREGROUND = 'foregroundDeletion';
const ORPHAN = 'orphan';

interface Found {
  readonly type: ServedType;
  readonly object: AnyObject;
}

/** Removes the dependents of owners that are gone. */
export function collectGarbage(host: ControllerHost): void {
  const { store } = host;
  const all: Found[] = storedTypes().flatMap((type) =>
    (store.list(storeKey(type)) as AnyObject[]).map((object) => ({ type, object })),
  );
  const uids = new Map(all.map((found) => [found.object.metadata.uid, found]));
  for (const { type, object } of all) {
    const owners = object.metadata.ownerReferences ?? [];
    if (owners.length === 0) continue;
    const living = owners.map(({ uid }) => uids.get(uid)).filter((owner) => owner !== undefined);
    const ending = living.find(({ object: owner }) => has(owner, FOREGROUND));
    const isLost = living.length === 0 || (living.length === 1 && ending !== undefined);
    if (isLost && object.metadata.deletionTimestamp === undefined) remove(host, { type, object });
    if (living.some(({ object: owner }) => has(owner, ORPHAN))) disown(host, { type, object });
  }
  for (const found of all) finish(host, found, all);
}

const has = ({ metadata }: AnyObject, finalizer: string): boolean =>
  metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(finalizer) === true;

const targetOf = ({ type, object: { metadata } }: Found) => ({
  type,
  namespace: metadata.namespace,
  name: metadata.name,
});

function remove({ objects }: ControllerHost, found: Found): void {
  if (objects.find(targetOf(found)) !== undefined) objects.delete(targetOf(found), {}, OPTIONS);
}

function disown({ objects }: ControllerHost, found: Found): void {
  const current = objects.find(targetOf(found));
  if (current === undefined) return;
  const metadata = without(current.metadata, ['ownerReferences']);
  objects.change(targetOf(found), current, { ...current, metadata }, OPTIONS);
}

/** An owner that waits for its dependents is removed once there are none. */
function finish({ objects }: ControllerHost, found: Found, all: readonly Found[]): void {
  const { metadata } = found.object;
  if (!has(found.object, FOREGROUND) && !has(found.object, ORPHAN)) return;
  const isOwner = all.some(({ type, object }) => {
    const current = objects.find(targetOf({ type, object }));
    return current?.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid) === true;
  });
  const current = objects.find(targetOf(found));
  if (isOwner || current === undefined) return;
  const finalizers = (metadata.finalizers ?? []).filter((name) => name !== FOREGROUND && name !== ORPHAN);
  objects.change(
    targetOf(found),
    current,
    { ...current, metadata: { ...current.metadata, finalizers } },
    OPTIONS,
  );
}
