/** The node and the table of its pods: all of them at first, then those that change. */
import type { ServerResponse } from 'node:http';
import type { EvictionExplanation } from '../../agent/policies/eviction/explanation.ts';
import type { RecordedLife } from '../../agent/policies/why/why-gone.ts';
import { Timer } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';
import type { CoreEvent } from '../../types/kubernetes.ts';
import type {
  ActorView,
  ChartActivity,
  GonePod,
  GoneRow,
  NodeView,
  PodRow,
  PodView,
} from '../../types/page-views.ts';
import type { Transition } from '../../types/transition.ts';
import { NewsStream } from './news-stream.ts';

const PAUSE_MS = 250;
/** After many rows the next ones wait longer, so that the agent has time for other work when all pods change all the time. */
const PAUSE_OF_ROW_MS = 30;
const PAUSE_MAX_MS = 1_500;
/** So many rows are made at once, so that the agent has time for other work. */
const ROWS_MAX = 250;
const NEXT_ROWS_MS = 10;
const NODE_PERIOD_MS = 2_000;

export function streamOverview({ facts, clock, watch }: PageSource, response: ServerResponse): void {
  const changed = new Set<string>(facts.uids());
  const nodeTimer = new Timer(clock);
  let node = facts.node();
  let restsUntilMs = 0;
  const end = watch({
    podChanged: (uid) => {
      if (changed.size === 0) stream.wake(Math.max(PAUSE_MS, restsUntilMs - clock.now()));
      changed.add(uid);
    },
  });
  const stream = new NewsStream(response, {
    clock,
    pauseMs: PAUSE_MS,
    flush: () => {
      const uids = [...changed].slice(0, ROWS_MAX);
      for (const uid of uids) changed.delete(uid);
      const events = facts.eventsByUID(uids);
      const rows = uids.map((uid) => facts.row(uid, events.get(uid) ?? []));
      const gone = uids.filter((_, index) => rows[index] === undefined);
      stream.send({ type: 'pods', rows: rows.filter((row) => row !== undefined), gone });
      restsUntilMs = clock.now() + Math.min(PAUSE_MAX_MS, uids.length * PAUSE_OF_ROW_MS);
      if (changed.size > 0) stream.wake(NEXT_ROWS_MS);
    },
    onEnd: () => {
      nodeTimer.disarm();
      end();
    },
  });
  const showNode = () => {
    nodeTimer.arm(NODE_PERIOD_MS, showNode);
    const next = facts.node();
    if (JSON.stringify(next) === JSON.stringify(node)) return;
    node = next;
    if (!response.writableNeedDrain) stream.send({ type: 'node', node });
  };
  nodeTimer.arm(NODE_PERIOD_MS, showNode);
  stream.send({ type: 'hello', nowMs: facts.now(), node, total: facts.total });
  if (changed.size > 0) stream.wake(0);
}

// The sources of the page's streams.

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
    gonePod(namespace: string, name: string): GonePod;
    node(): NodeView;
    actors(chart: string): readonly ActorView[];
    actorOfPod(namespace: string, name: string): readonly ActorView[];
    charts(): readonly ChartActivity[];
    nodeEvents(): readonly CoreEvent[];
    gone(lives: readonly RecordedLife[]): readonly GoneRow[];
  };
  /** When the agent started, in Unix milliseconds. */
  readonly startedMs: number;
  /** Measures the node. */
  readonly explain: () => Promise<EvictionExplanation | undefined>;
  /** The recorded transitions of these actors, the oldest first; `keeps`: only these transitions. Undefined where it is off. */
  readonly history?: (
    wants: (actor: string) => boolean,
    keeps?: (transition: Transition) => boolean,
  ) => Promise<readonly Transition[]>;
  /** The record of a pod that is gone. */
  readonly recorded?: (namespace: string, name: string) => Promise<GonePod>;
  /** Of the pods that the flight recorder saw end. */
  readonly lives?: () => Promise<readonly RecordedLife[]>;
  /** Returns the function that ends it. */
  readonly watch: (listener: PageChanges) => () => void;
}

export interface PageChanges {
  readonly podChanged: (uid: string) => void;
  readonly transition?: (transition: Transition) => void;
}
