/** Puts together what the page shows. Loaded when a page is first opened, or with `--ui`. */
import type { NodeAgent } from './actors/node-agent.ts';
import { KnownActors } from './actors/page/known-actors.ts';
import { PageFacts } from './actors/page/page-facts.ts';
import { PageWatch } from './actors/page/page-watch.ts';
import type { RecentEvents } from './server/recent-events.ts';
import type { PageSource } from './server/ui/page-source.ts';
import { recordFolder } from './server/record/flight-recorder.ts';
import { recordedHistory } from './server/record/recorded-history.ts';
import type { Clock } from './types/clock.ts';
import { ownVersion } from './version.ts';

export interface PageParts {
  readonly agent: NodeAgent;
  readonly events: RecentEvents;
  readonly clock: Clock;
  /** The root folder, where the flight recorder is on. */
  readonly recordedIn?: string;
  /** Without them, actors are known once a page is open. */
  readonly actors?: KnownActors;
}

/** Of a pod or an actor: the page lists fewer, and draws all of them. */
const HISTORY_MAX = 500;

export function pageSource({
  agent,
  events,
  clock,
  recordedIn,
  actors = new KnownActors(),
}: PageParts): PageSource {
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
    ...(recordedIn !== undefined && { history: historyOf(recordedIn) }),
    watch: (listener) => watch.add(listener),
  };
}

function historyOf(rootDir: string): NonNullable<PageSource['history']> {
  const folder = recordFolder(rootDir);
  return (wants) => recordedHistory(folder, { wants, limit: HISTORY_MAX });
}
