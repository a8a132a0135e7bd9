/** All versions that the simulated API server has had of ConfigMaps and Secrets: a node must have one of them. */
import type { Observable } from 'rxjs';
import type { ConfigMap } from '../../../types/kubernetes.ts';
import type { StoredChange, StoredObject } from '../../api/api-store.ts';
import { type ContentReference, referenceKey } from '../../api/pod-references.ts';

/** Values by key, as text. Undefined: there was no such object. */
export type Values = ReadonlyMap<string, string> | undefined;

export interface ObjectVersion {
  readonly values: Values;
  readonly immutable: boolean;
}

const ABSENT: ObjectVersion = { values: undefined, immutable: false };
/** More than there are changes of one object in an hour. */
const KEPT = 100;

export class ObjectVersions {
  readonly #versions = new Map<string, ObjectVersion[]>();

  constructor(changes: Observable<StoredChange>) {
    changes.subscribe(({ resource, before, after }) => {
      if (resource !== 'configmaps' && resource !== 'secrets') return;
      const { namespace = '', name = '' } = (after ?? before)?.metadata ?? {};
      const key = referenceKey({ resource, namespace, name });
      const version = after === undefined ? ABSENT : versionOf(resource, after);
      this.#versions.set(key, [...this.#of(key), version].slice(-KEPT));
    });
  }

  /** The oldest first. */
  all(reference: ContentReference): readonly ObjectVersion[] {
    return this.#of(referenceKey(reference));
  }

  current(reference: ContentReference): ObjectVersion {
    return this.all(reference).at(-1) ?? ABSENT;
  }

  #of(key: string): readonly ObjectVersion[] {
    return this.#versions.get(key) ?? [ABSENT];
  }
}

function versionOf(resource: ContentReference['resource'], object: StoredObject & ConfigMap): ObjectVersion {
  const text = (value: string) => (resource === 'secrets' ? atob(value) : value);
  const entries = Object.entries(object.data ?? {}).map(([key, value]) => [key, text(value)] as const);
  return { values: new Map(entries), immutable: object.immutable === true };
}
