import type { Subscription } from 'rxjs';
import { selectedBundles } from '../../policies/volumes/object-files.ts';
import { StateletError } from '../../../types/errors.ts';
import type { ClusterTrustBundle, TrustBundleSelection } from '../../../types/kubernetes.ts';
import { hasReason } from '../service/api-error.ts';
import type { Collection } from '../service/api-resources.ts';
import type { ApiServer } from '../service/api-server.ts';
import { reflect, type WatchTiming } from '../watches/reflect.ts';

/** The newest first. A server may have any of them, and by default it has none. */
const VERSIONS = ['v1', 'v1beta1', 'v1alpha1'];
const READ_LIMIT_MS = 3_000;
/** A server without trust bundles is asked again after this time: it may have been replaced. */
const UNSERVED_MS = 60_000;

/** The ClusterTrustBundles of the API server. They are watched while a pod uses some: before that, the server is asked for nothing. */
export class TrustBundles {
  readonly #timing: WatchTiming;
  readonly #api: ApiServer;
  readonly #onChange: (uids: Iterable<string>) => void;
  /** UIDs of the pods that use bundles. */
  readonly #pods = new Set<string>();
  #opening: Promise<void> | undefined;
  #watch: Subscription | undefined;
  #bundles: readonly ClusterTrustBundle[] = [];
  #unservedUntil = -Infinity;

  /** `onChange`: the bundles have changed; these pods use some. */
  constructor(timing: WatchTiming, api: ApiServer, onChange: (uids: Iterable<string>) => void) {
    this.#timing = timing;
    this.#api = api;
    this.#onChange = onChange;
  }

  /** The bundles that the selection names, as they are now; none where there is none. Rejects where the server does not say. */
  async select(uid: string, selection: TrustBundleSelection): Promise<readonly ClusterTrustBundle[]> {
    this.#pods.add(uid);
    this.#opening ??= this.#open();
    try {
      await this.#opening;
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
    return selectedBundles(this.#bundles, selection);
  }

  forgetPod(uid: string): void {
    if (this.#pods.delete(uid) && this.#pods.size === 0) this.close();
  }

  close(): void {
    this.#watch?.unsubscribe();
    this.#watch = undefined;
    this.#opening = undefined;
    this.#bundles = [];
  }

  async #open(): Promise<void> {
    const collection = await this.#find();
    if (this.#pods.size === 0) {
      this.close();
      return;
    }
    const watch = reflect<ClusterTrustBundle>(this.#api, collection, this.#timing);
    this.#watch = watch.subscribe(({ objects }) => {
      if (objects === undefined || versionsOf(objects) === versionsOf(this.#bundles)) return;
      this.#bundles = objects;
      this.#onChange([...this.#pods]);
    });
  }

  /** Lists the bundles in the newest version that the server has. */
  async #find(): Promise<Collection> {
    const { clock } = this.#timing;
    for (const version of clock.now() < this.#unservedUntil ? [] : VERSIONS) {
      const collection = { resource: 'clustertrustbundles', version } as const;
      try {
        const list = await this.#api.list<ClusterTrustBundle>(collection, { timeoutMs: READ_LIMIT_MS });
        this.#bundles = list.items;
        return collection;
      } catch (error) {
        if (!hasReason(error, 'NotFound')) throw error;
      }
    }
    if (clock.now() >= this.#unservedUntil) this.#unservedUntil = clock.now() + UNSERVED_MS;
    const message =
      'ClusterTrustBundle projection is not supported: the API server does not serve clustertrustbundles of certificates.k8s.io';
    throw new StateletError('FailedPrecondition', message);
  }
}

function versionsOf(bundles: readonly ClusterTrustBundle[]): string {
  const versions = bundles.map(({ metadata }) => `${metadata?.uid ?? ''} ${metadata?.resourceVersion ?? ''}`);
  return versions.toSorted().join();
}
