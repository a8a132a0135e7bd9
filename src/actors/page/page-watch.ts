/** Tells the open pages what changes. Nothing is inspected and nothing is done while none is open. */
import type { AnyActorRef, InspectionEvent, Subscription } from 'xstate';
import type { CoreEvent } from '../../types/kubernetes.ts';
import type { Transition } from '../../types/transition.ts';
import { uidOfActor } from '../pods/pod-registry.ts';
import type { StatusManager } from '../pods/status-manager.ts';
import type { NodeTransitions } from '../node-transitions.ts';
import type { KnownActors } from './known-actors.ts';

export interface PageListener {
  /** Of the pod of that UID something may have changed, or it has gone. */
  podChanged(uid: string): void;
  transition(transition: Transition): void;
}

export interface PageWatchOptions {
  readonly root: AnyActorRef;
  readonly feed: NodeTransitions;
  readonly actors: KnownActors;
  readonly statusManager: Pick<StatusManager, 'news'>;
  readonly watchEvents: (listener: (change: { readonly event: CoreEvent }) => void) => () => void;
}

export class PageWatch {
  readonly #options: PageWatchOptions;
  readonly #listeners = new Set<PageListener>();
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
    const { root, feed, statusManager, watchEvents } = this.#options;
    const inspection: Subscription = root.system.inspect({ next: (event) => this.#see(event) });
    const statuses = statusManager.news.subscribe(({ uid }) => this.#podChanged(uid));
    const ends = [
      feed.subscribe((kind, actor, atMs) => {
        if (kind.chart === 'pod') this.#podChanged(uidOfActor(actor));
        for (const listener of this.#listeners) listener.transition({ ...kind, actor, atMs });
      }),
      watchEvents(({ event: { involvedObject } }) => {
        if (involvedObject.uid !== undefined) this.#podChanged(involvedObject.uid);
      }),
    ];
    return () => {
      inspection.unsubscribe();
      statuses.unsubscribe();
      for (const end of ends) end();
    };
  }

  #see(event: InspectionEvent): void {
    this.#options.actors.see(event);
    if (event.type !== '@xstate.event' || event.event.type !== 'ACTOR_FORGOTTEN') return;
    const { actor } = event.event as unknown as { readonly actor: AnyActorRef };
    this.#podChanged(uidOfActor(actor.id));
  }

  #podChanged(uid: string): void {
    for (const listener of this.#listeners) listener.podChanged(uid);
  }
}
