/** `/watch/pods`: the pods as `/pods` has them, and then each change of one, a line each, for as long as the client listens. */
import type { ServerResponse } from 'node:http';
import type { ServedPod } from '../../../types/served-pod.ts';
import { shownPod } from './local-routes.ts';
import { beginJSONLines, type Route } from './route.ts';

export interface WatchedPods {
  pods(): Iterable<ServedPod>;
  /** Calls `changed` whenever a pod may have changed. Returns the function that ends this. */
  onPodChange(changed: () => void): () => void;
}

/** `BOOKMARK`: the pods before it are those that were there at the beginning. */
export interface PodChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: object;
}

/** Changes that follow each other within this time are one. */
const TOGETHER_MS = 100;
/** A client that reads slower than changes come loses the connection when so much waits for it. */
const UNREAD_BYTES_MAX = 16 * 1024 * 1024;

export function watchPodsRoute(watched: WatchedPods): Route {
  return {
    path: '/watch/pods',
    methods: ['GET'],
    handle: (_, response) => {
      beginJSONLines(response);
      new PodWatch(watched, response).begin();
    },
  };
}

class PodWatch {
  readonly #watched: WatchedPods;
  readonly #response: ServerResponse;
  /** As the client knows them, by UID. */
  #sent = new Map<string, ServedPod>();
  #timer: NodeJS.Timeout | undefined;

  constructor(watched: WatchedPods, response: ServerResponse) {
    this.#watched = watched;
    this.#response = response;
  }

  begin(): void {
    this.#sendChanges();
    this.#write({ type: 'BOOKMARK', object: {} });
    const end = this.#watched.onPodChange(() => {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        this.#sendChanges();
      }, TOGETHER_MS);
    });
    this.#response.once('close', () => {
      clearTimeout(this.#timer);
      end();
    });
  }

  #sendChanges(): void {
    const before = this.#sent;
    this.#sent = new Map(Array.from(this.#watched.pods(), (served) => [served.pod.metadata.uid, served]));
    for (const [uid, served] of this.#sent) {
      const known = before.get(uid);
      if (known === undefined) this.#write({ type: 'ADDED', object: shownPod(served) });
      else if (!isSame(known, served)) this.#write({ type: 'MODIFIED', object: shownPod(served) });
    }
    for (const [uid, served] of before)
      if (!this.#sent.has(uid)) this.#write({ type: 'DELETED', object: shownPod(served) });
  }

  #write(change: PodChange): void {
    if (this.#response.destroyed) return;
    this.#response.write(`${JSON.stringify(change)}\n`);
    if (this.#response.writableLength > UNREAD_BYTES_MAX) this.#response.destroy();
  }
}

/** Pods and statuses are replaced, never changed. */
function isSame(one: ServedPod, other: ServedPod): boolean {
  return (
    one.pod === other.pod &&
    one.status === other.status &&
    one.state === other.state &&
    one.waitsFor === other.waitsFor &&
    one.ownCpus === other.ownCpus
  );
}
