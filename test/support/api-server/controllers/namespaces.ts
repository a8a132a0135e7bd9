import { readFileSync } from 'node:fs';
import { LOOPBACK } from '../bootstrap.ts';
import type { AnyObject } from '../context.ts';
import { storedTypes, storeKey, typeOf } from '../served-types.ts';
import type { ControllerHost } from './controllers.ts';

const OPTIONS = { user: LOOPBACK };

/** Makes the objects that pods expect in each namespace, and empties a namespace that is being deleted. */
export function keepNamespaces(host: ControllerHost): void {
  for (const namespace of host.store.list('namespaces') as AnyObject[]) {
    if (namespace.metadata.deletionTimestamp === undefined) fill(host, namespace.metadata.name);
    else empty(host, namespace);
  }
}

function fill({ objects, ca }: ControllerHost, namespace: string): void {
  const account = { type: typeOf('serviceaccounts'), namespace, name: 'default' };
  if (objects.find(account) === undefined)
    objects.create(account, { metadata: { name: 'default' } }, OPTIONS);
  const root = { type: typeOf('configmaps'), namespace, name: 'kube-root-ca.crt' };
  if (objects.find(root) !== undefined) return;
  const data = { 'ca.crt': readFileSync(ca.files.cert, 'utf8') };
  objects.create(root, { metadata: { name: root.name }, data }, OPTIONS);
}

function empty({ objects, store }: ControllerHost, namespace: AnyObject): void {
  const { name } = namespace.metadata;
  let isEmpty = true;
  for (const type of storedTypes().filter(({ namespaced }) => namespaced)) {
    for (const object of store.list(storeKey(type)).filter(({ metadata }) => metadata.namespace === name)) {
      isEmpty = false;
      const target = { type, namespace: name, name: object.metadata.name };
      if (object.metadata.deletionTimestamp === undefined) objects.delete(target, {}, OPTIONS);
    }
  }
  if (!isEmpty) return;
  const target = { type: typeOf('namespaces'), namespace: undefined, name };
  objects.change(
    target,
    namespace,
    { ...namespace, spec: { finalizers: [] } },
    { ...OPTIONS, subresource: 'finalize' },
  );
}
