/**
 * Which pods the node authorizer knows to be bound to a node, and to which objects they refer. It learns of a binding and of a removal
 * a moment later than watches do.
 */
import type { Pod } from '../../types/kubernetes.ts';
import type { ApiStore, StoredChange } from './api-store.ts';
import { type ContentReference, referenceKey, referencesOf } from './pod-references.ts';

export interface AuthorizerGraphOptions {
  readonly store: ApiStore;
  readonly nodeName: string;
  readonly now: () => number;
  /** How much later the authorizer learns of that change. */
  readonly delayMs: (podName: string) => number;
}

interface Known {
  readonly uid: string;
  readonly since: number;
  /** Keys of the objects that the pod refers to. */
  readonly references: ReadonlySet<string>;
  /** Unix ms. */
  until: number;
}

export class AuthorizerGraph {
  readonly #options: AuthorizerGraphOptions;
  readonly #known = new Map<string, Known>();

  constructor(options: AuthorizerGraphOptions) {
    this.#options = options;
    options.store.changes.subscribe((change) => {
      if (change.resource === 'pods') this.#learn(change);
    });
  }

  isKnownHere(namespace: string, name: string): boolean {
    const known = this.#known.get(`${namespace}/${name}`);
    return known !== undefined && this.#holds(known);
  }

  /** Whether a pod that is known here refers to the object. */
  isReferredTo(object: ContentReference): boolean {
    const key = referenceKey(object);
    return [...this.#known.values()].some((known) => known.references.has(key) && this.#holds(known));
  }

  #holds({ since, until }: Known): boolean {
    const now = this.#options.now();
    return since <= now && now < until;
  }

  #learn({ before, after }: StoredChange): void {
    const { now, delayMs } = this.#options;
    const { namespace = '', name = '', uid = '' } = (after ?? before)?.metadata ?? {};
    const key = `${namespace}/${name}`;
    const known = this.#known.get(key);
    const isHere = this.#isHere(after);
    if (known !== undefined && known.until > now() && isHere && known.uid === uid) known.until = Infinity;
    else if (isHere) {
      const references = new Set(referencesOf(after as unknown as Pod).map(referenceKey));
      this.#known.set(key, { uid, since: now() + delayMs(name), references, until: Infinity });
    } else if (known !== undefined) known.until = now() + delayMs(name);
  }

  #isHere(object: StoredChange['after']): boolean {
    return (object as Pod | undefined)?.spec.nodeName === this.#options.nodeName;
  }
}
