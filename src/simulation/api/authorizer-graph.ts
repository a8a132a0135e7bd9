/** Which pods the node authorizer knows to be bound to a node. It learns of a binding and of a removal a moment later than watches do. */
import type { Pod } from '../../types/kubernetes.ts';
import type { ApiStore, StoredChange } from './api-store.ts';

export interface AuthorizerGraphOptions {
  readonly store: ApiStore;
  readonly nodeName: string;
  readonly now: () => number;
  /** How much later the authorizer learns of that change. */
  readonly delayMs: (podName: string) => number;
}

interface Known {
  readonly since: number;
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
    const now = this.#options.now();
    const { since = Infinity, until = 0 } = this.#known.get(`${namespace}/${name}`) ?? {};
    return since <= now && now < until;
  }

  #learn({ before, after }: StoredChange): void {
    const { now, delayMs } = this.#options;
    const { namespace = '', name = '' } = (after ?? before)?.metadata ?? {};
    const key = `${namespace}/${name}`;
    const known = this.#known.get(key);
    const isHere = this.#isHere(after);
    if (known !== undefined && known.until > now() && isHere) known.until = Infinity;
    else if (isHere) this.#known.set(key, { since: now() + delayMs(name), until: Infinity });
    else if (known !== undefined) known.until = now() + delayMs(name);
  }

  #isHere(object: StoredChange['after']): boolean {
    return (object as Pod | undefined)?.spec.nodeName === this.#options.nodeName;
  }
}
