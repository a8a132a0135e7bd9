/** Puts together what the page shows. Loaded when a page is first opened, or with `--ui`. */
import type { NodeAgent } from '../actors/node-agent.ts';
import { PageFacts } from '../actors/page/page-facts.ts';
import { PageWatch } from '../actors/page/page-watch.ts';
import type { RecentEvents } from '../server/recent-events.ts';
import { recordFolder } from '../server/record/flight-recorder.ts';
import { recordedHistory } from '../server/record/recorded-history.ts';
import type { PageSource } from '../server/ui/overview-stream.ts';
import type { Clock } from '../types/clock.ts';
import { ownVersion } from '../version.ts';

export interface PageParts {
  readonly agent: NodeAgent;
  readonly events: RecentEvents;
  readonly clock: Clock;
  /** The root folder, where the flight recorder is on. */
  readonly recordedIn?: string;
}

/** Of a pod or an actor: the page lists fewer, and draws all of them. */
const HISTORY_MAX = 500;

export function pageSource({ agent, events, clock, recordedIn }: PageParts): PageSource {
  const watch = new PageWatch({
    feed: agent.transitions,
    statusManager: agent.statusManager,
    watchEvents: (listener) => events.watch(listener),
  });
  return {
    clock,
    facts: new PageFacts({ agent, clock, events: () => events.list(), version: ownVersion() }),
    ...(recordedIn !== undefined && { history: historyOf(recordedIn) }),
    watch: (listener) => watch.add(listener),
  };
}

function historyOf(rootDir: string): NonNullable<PageSource['history']> {
  const folder = recordFolder(rootDir);
  return (wants) => recordedHistory(folder, { wants, limit: HISTORY_MAX });
}
