/** Puts together what the page shows. Loaded when a page is first opened, or with `--ui`. */
import type { NodeAgent } from './actors/node-agent.ts';
import { KnownActors } from './actors/page/known-actors.ts';
import { PageFacts } from './actors/page/page-facts.ts';
import { PageWatch } from './actors/page/page-watch.ts';
import type { RecentEvents } from './server/recent-events.ts';
import type { PageSource } from './server/ui/page-source.ts';
import type { Clock } from './types/clock.ts';
import { ownVersion } from './version.ts';

export interface PageParts {
  readonly agent: NodeAgent;
  readonly events: RecentEvents;
  readonly clock: Clock;
  /** Without them, actors are known once a page is open. */
  readonly actors?: KnownActors;
}

export function pageSource({ agent, events, clock, actors = new KnownActors() }: PageParts): PageSource {
  const { supervisor, statusManager } = agent;
  const root = supervisor.actor;
  const watch = new PageWatch({
    root,
    feed: agent.transitions,
    actors,
    statusManager,
    watchEvents: (listener) => events.watch(listener),
  });
  for (const actor of agent.transitions.lasting) actors.add(actor);
  return {
    clock,
    facts: new PageFacts({ agent, clock, events: () => events.list(), actors, version: ownVersion() }),
    watch: (listener) => watch.add(listener),
  };
}
