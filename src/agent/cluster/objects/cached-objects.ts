import type { AgentContext } from '../../../types/agent-context.ts';
import { apiPath } from '../service/api-resources.ts';
import { isOlderVersion } from '../watches/object-store.ts';
import {
  type ConfigObject,
  type ConfigObjectReference,
  notRegistered,
  type ObjectSource,
} from './object-references.ts';

const DEFAULT_TTL_MS = 60_000;

interface Kept {
  /** Undefined until the server has answered once. */
  known: { readonly object: ConfigObject | undefined; readonly at: number } | undefined;
  /** Settles when the reads before have ended: those that come at the same time share one request. */
  turn: Promise<unknown>;
}

/**
 * The strategy `Cache`: what was read is kept for some time. After that, it still serves where the server does not answer. When
 * another pod begins to refer to an object, it is read anew.
 */
export class CachedObjects implements ObjectSource {
  readonly #context: Pick<AgentContext, 'clock'>;
  readonly #fetched: Pick<ObjectSource, 'read'>;
  readonly #ttlMs: () => number | undefined;
  readonly #kept = new Map<string, Kept>();

  /** `ttlMs`: how long a read object counts as new, as the cluster wants it of its nodes. Undefined: a minute. */
  constructor(
    context: Pick<AgentContext, 'clock'>,
    fetched: Pick<ObjectSource, 'read'>,
    ttlMs: () => number | undefined,
  ) {
    this.#context = context;
    this.#fetched = fetched;
    this.#ttlMs = ttlMs;
  }

  referred(reference: ConfigObjectReference): void {
    const key = apiPath(reference);
    const kept = this.#kept.get(key);
    if (kept === undefined) this.#kept.set(key, { known: undefined, turn: Promise.resolve() });
    else kept.known = undefined;
  }

  forgotten(reference: ConfigObjectReference): void {
    this.#kept.delete(apiPath(reference));
  }

  async read(reference: ConfigObjectReference): Promise<ConfigObject | undefined> {
    const kept = this.#kept.get(apiPath(reference));
    if (kept === undefined) throw notRegistered(reference);
    const read = kept.turn.then(() => this.#read(kept, reference));
    kept.turn = read.catch(() => undefined);
    return read;
  }

  close(): void {
    this.#kept.clear();
  }

  async #read(kept: Kept, reference: ConfigObjectReference): Promise<ConfigObject | undefined> {
    const { clock } = this.#context;
    const { known } = kept;
    if (known !== undefined && clock.now() < known.at + (this.#ttlMs() ?? DEFAULT_TTL_MS))
      return known.object;
    try {
      const object = await this.#fetched.read(reference);
      if (isOlder(object, known?.object)) return known?.object;
      kept.known = { object, at: clock.now() };
      return object;
    } catch (error) {
      if (known === undefined) throw error;
      return known.object;
    }
  }
}

/** A server that lags behind another one may answer with an older version. */
function isOlder(one: ConfigObject | undefined, other: ConfigObject | undefined): boolean {
  return isOlderVersion(one?.metadata?.resourceVersion, other?.metadata?.resourceVersion);
}
