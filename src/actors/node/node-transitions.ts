/** The transitions of all actors of the node: a few run before the supervisor does, and are of other systems. */
import type { AnyActorRef } from 'xstate';
import type { Clock } from '../../types/clock.ts';
import { TransitionFeed } from '../transitions.ts';

export type NodeTransitions = Pick<TransitionFeed, 'subscribe'>;

/** `roots`: the first actors of their systems. */
export function nodeTransitions(roots: readonly AnyActorRef[], clock: Clock): NodeTransitions {
  const feeds = roots.map((root) => new TransitionFeed(root, clock));
  return {
    subscribe: (listener) => {
      const ends = feeds.map((feed) => feed.subscribe(listener));
      return () => {
        for (const end of ends) end();
      };
    },
  };
}
