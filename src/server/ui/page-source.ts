/** What the page's streams are made from. */
import type { Clock } from '../../types/clock.ts';
import type { CoreEvent } from '../../types/kubernetes.ts';
import type { ActorView, NodeView, PodRow, PodView } from '../../types/page-views.ts';
import type { Transition } from '../../types/transition.ts';

export interface PageSource {
  readonly clock: Clock;
  readonly facts: {
    readonly total: number;
    now(): number;
    uids(): readonly string[];
    row(uid: string, events?: readonly CoreEvent[]): PodRow | undefined;
    eventsOf(uid: string): readonly CoreEvent[];
    eventsByUID(uids: readonly string[]): ReadonlyMap<string, readonly CoreEvent[]>;
    pod(namespace: string, name: string): PodView | undefined;
    sentences(namespace: string, name: string): readonly string[];
    node(): NodeView;
    actors(chart: string): readonly ActorView[];
    actorOfPod(namespace: string, name: string): readonly ActorView[];
  };
  /** What the flight recorder has of these actors, the oldest first. Undefined where it is off. */
  readonly history?: (wants: (actor: string) => boolean) => Promise<readonly Transition[]>;
  /** Returns the function that ends it. */
  readonly watch: (listener: PageChanges) => () => void;
}

export interface PageChanges {
  readonly podChanged: (uid: string) => void;
  readonly transition?: (transition: Transition) => void;
}
