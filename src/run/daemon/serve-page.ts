/** Puts together what the page shows. Loaded when a page is first opened, or with `--ui`. */
import type { NodeAgent } from '../../agent/actors/node-agent.ts';
import { whyOfPodWithRecord, type WhySources } from '../../agent/actors/why-facts.ts';
import { gonePod, PageFacts } from '../../page/watch/page-facts.ts';
import { PageWatch } from '../../page/watch/page-watch.ts';
import type { RecentEvents } from '../../agent/server/recent-events.ts';
import { recordFolder } from '../../recorder/flight-recorder.ts';
import { recordOfPod } from '../../recorder/recorded-end.ts';
import { recordedGone } from '../../recorder/recorded-gone.ts';
import { recordedHistory } from '../../recorder/recorded-history.ts';
import type { PageSource } from '../../page/server/overview-stream.ts';
import type { AgentContext } from '../../types/agent-context.ts';
import { ownVersion } from '../../version.ts';

export interface PageParts {
  readonly agent: NodeAgent;
  readonly events: RecentEvents;
  /** The root folder, where the flight recorder is on. */
  readonly recordedIn?: string;
}

/** Of a pod or an actor: the page lists fewer, and draws all of them. */
const HISTORY_MAX = 500;

export function pageSource({ clock }: AgentContext, { agent, events, recordedIn }: PageParts): PageSource {
  const watch = new PageWatch({
    feed: agent.transitions,
    statusManager: agent.statusManager,
    waitChanges: agent.supervisor.registry.waitChanges,
    watchEvents: (listener) => events.watch(listener),
  });
  const sources = { agent, clock, events: () => events.list() };
  return {
    clock,
    startedMs: clock.now() - process.uptime() * 1000,
    facts: new PageFacts({ ...sources, version: ownVersion() }),
    explain: () => agent.explainEviction(),
    ...(recordedIn !== undefined && recordParts(sources, recordFolder(recordedIn))),
    watch: (listener) => watch.add(listener),
  };
}

function recordParts(
  sources: WhySources,
  folder: string,
): Pick<PageSource, 'history' | 'recorded' | 'lives'> {
  return {
    history: (wants, keeps) => recordedHistory(folder, { wants, limit: HISTORY_MAX, keeps }),
    recorded: async (namespace, name) => {
      const pod = { namespace, name };
      return gonePod(await whyOfPodWithRecord(sources, pod, () => recordOfPod(folder, pod)));
    },
    lives: () => recordedGone(folder),
  };
}
