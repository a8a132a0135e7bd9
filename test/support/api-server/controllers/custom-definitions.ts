import { rfc3339 } from '../../../../src/agent/policies/formats/time.ts';
import { LOOPBACK } from '../bootstrap.ts';
import type { AnyObject, Draft } from '../context.ts';
import { ALL_VERBS, serveCustomTypes, type ServedType, storeKey, typeOf } from '../served-types.ts';
import type { ControllerHost } from './controllers.ts';

const KEY = 'customresourcedefinitions.apiextensions.k8s.io';

/** Serves the types of CustomResourceDefinitions, and says so in their statuses. Fields of such objects are not checked against their schemas. */
export function establishDefinitions({ store, objects, now }: ControllerHost): void {
  const at = rfc3339(now());
  for (const definition of definitionsIn(store)) {
    if (isEstablished(definition)) continue;
    const target = { type: typeOf(KEY), namespace: undefined, name: definition.metadata.name };
    const sent = { ...definition, status: establishedStatus(definition.spec as Draft, at) };
    objects.change(target, definition, sent, { user: LOOPBACK, subresource: 'status' });
  }
  const gone = serveCustomTypes(definitionsIn(store).filter(isEstablished).flatMap(typesOf));
  for (const key of new Set(gone.map(storeKey)))
    for (const object of store.list(key)) store.remove(key, object, undefined);
}

function definitionsIn(store: ControllerHost['store']): readonly AnyObject[] {
  return store.list(KEY);
}

function isEstablished({ status }: AnyObject): boolean {
  const conditions = (status?.conditions ?? []) as readonly Draft[];
  return conditions.some(({ type, status: is }) => type === 'Established' && is === 'True');
}

function establishedStatus({ names, versions }: Draft, at: string): Draft {
  const condition = (type: string, reason: string, message: string) => ({
    ...{ type, status: 'True', reason, message, lastTransitionTime: at },
  });
  return {
    acceptedNames: names,
    conditions: [
      condition('NamesAccepted', 'NoConflicts', 'no conflicts found'),
      condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
    ],
    storedVersions: (versions as Draft[]).filter(({ storage }) => storage === true).map(({ name }) => name),
  };
}

function typesOf({ spec }: AnyObject): readonly ServedType[] {
  const { group, names, scope, versions } = spec as Draft;
  const { kind, plural, singular, shortNames = [], categories = [] } = names as Record<string, any>;
  return (versions as Draft[])
    .filter(({ served }) => served === true)
    .map(({ name, subresources }) => ({
      ...{ group, version: name, kind, plural, shortNames, categories },
      singular: singular ?? String(kind).toLowerCase(),
      namespaced: scope === 'Namespaced',
      subresources: subresources?.status === undefined ? [] : ['status'],
      verbs: ALL_VERBS,
      isCustom: true,
    }));
}
