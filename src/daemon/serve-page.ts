/** Puts together what the page shows. Loaded when a page is first opened, or with `--ui`. */
import type { NodeAgent } from '../actors/node-agent.ts';
import { PageFacts } from '../actors/page/page-facts.ts';
import { PageWatch } from '../actors/page/page-watch.ts';
import type { RecentEvents } from '../server/recent-events.ts';
import type { PageSource } from '../server/ui/page-source.ts';
import type { Clock } from '../types/clock.ts';
import { ownVersion } from '../version.ts';

export interface PageParts {
  readonly agent: NodeAgent;
  readonly events: RecentEvents;
  readonly clock: Clock;
}

export function pageSource({ agent, events, clock }: PageParts): PageSource {
  const { actors, statusManager } = agent;
  const watch = new PageWatch({
    feed: agent.transitions,
    statusManager,
    watchEvents: (listener) => events.watch(listener),
  });
  return {
    clock,
    facts: new PageFacts({ agent, clock, events: () => events.list(), actors, version: ownVersion() }),
    watch: (listener) => watch.add(listener),
  };
}
