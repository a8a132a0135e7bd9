/** Sends changes to the open pages. It listens to nothing while no page is open. */
import type { AnyActorRef } from 'xstate';
import type { CoreEvent } from '../../types/kubernetes.ts';
import type { Transition, TransitionKind } from '../../types/transition.ts';
import { type PodRegistry, uidOfActor } from '../../agent/actors/pods/pod-registry.ts';
import type { StatusManager } from '../../agent/actors/pods/status-manager.ts';
import type { NodeTransitions } from '../../agent/actors/transitions.ts';

export interface PageListener {
  /** The pod of that UID may have changed, or is gone. */
  podChanged(uid: string): void;
  readonly transition?: (transition: Transition) => void;
}

/** More than there are pods on any node. */
const UIDS_MAX = 10_000;

export interface PageWatchOptions {
  readonly feed: NodeTransitions;
  readonly statusManager: Pick<StatusManager, 'news'>;
  readonly waitChanges: PodRegistry['waitChanges'];
  readonly watchEvents: (listener: (change: { readonly event: CoreEvent }) => void) => () => void;
}

export class PageWatch {
  readonly #options: PageWatchOptions;
  readonly #listeners = new Set<PageListener>();
  /** By the ids of actors: listeners look up the same text again and again, which is hashed once. */
  readonly #uids = new Map<string, string>();
  #end: (() => void) | undefined;

  constructor(options: PageWatchOptions) {
    this.#options = options;
  }

  /** Returns the function that ends this. */
  add(listener: PageListener): () => void {
    this.#listeners.add(listener);
    this.#end ??= this.#begin();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#end?.();
      this.#end = undefined;
    };
  }

  #begin(): () => void {
    const { feed, statusManager, waitChanges, watchEvents } = this.#options;
    const news = statusManager.news.subscribe(({ uid }) => this.#podChanged(uid));
    news.add(waitChanges.subscribe((uids) => uids.forEach((uid) => this.#podChanged(uid))));
    const ends = [
      feed.subscribe((kind, actor, atMs, { event }) => {
        if (kind.chart === 'pod') this.#podChanged(this.#uidOf(actor));
        if (isForgotten(event)) this.#podChanged(this.#uidOf(event.actor.id));
        this.#notify(kind, actor, atMs);
      }),
      watchEvents(({ event: { involvedObject } }) => {
        if (involvedObject.uid !== undefined) this.#podChanged(involvedObject.uid);
      }),
    ];
    return () => {
      news.unsubscribe();
      for (const end of ends) end();
      this.#uids.clear();
    };
  }

  #uidOf(actor: string): string {
    const known = this.#uids.get(actor);
    if (known !== undefined) return known;
    if (this.#uids.size >= UIDS_MAX) this.#uids.clear();
    const uid = uidOfActor(actor);
    this.#uids.set(actor, uid);
    return uid;
  }

  #notify(kind: TransitionKind, actor: string, atMs: number): void {
    let transition: Transition | undefined;
    for (const listener of this.#listeners) listener.transition?.((transition ??= { ...kind, actor, atMs }));
  }

  #podChanged(uid: string): void {
    for (const listener of this.#listeners) listener.podChanged(uid);
  }
}

function isForgotten(event: {
  readonly type: string;
}): event is { readonly type: string; readonly actor: AnyActorRef } {
  return event.type === 'ACTOR_FORGOTTEN';
}
