/** The transitions of all actors of the node: a few run before the supervisor does, and are of other systems. */
import type { AnyActorRef } from 'xstate';
import type { Clock } from '../types/clock.ts';
import { TransitionFeed } from './transitions.ts';

export interface NodeTransitions extends Pick<TransitionFeed, 'subscribe'> {
  /** Those that live as long as the agent. */
  readonly lasting: readonly AnyActorRef[];
}

/** Of the systems of these actors. */
export function nodeTransitions(lasting: readonly AnyActorRef[], clock: Clock): NodeTransitions {
  const systems = [...Map.groupBy(lasting, ({ system }) => system).values()];
  const feeds = systems.flatMap(([root]) => (root === undefined ? [] : [new TransitionFeed(root, clock)]));
  return {
    lasting,
    subscribe: (listener) => {
      const ends = feeds.map((feed) => feed.subscribe(listener));
      return () => {
        for (const end of ends) end();
      };
    },
  };
}
