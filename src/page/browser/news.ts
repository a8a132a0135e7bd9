/** What the page knows. It comes by two streams, which are closed while the page is hidden. */
import type { CoreEvent } from '../../types/kubernetes.ts';
import type {
  ActorView,
  ChartActivity,
  GoneRow,
  NodeView,
  PageNews,
  PodEnd,
  PodRow,
  PodView,
  PressureView,
} from '../../types/page-views.ts';
import type { Transition } from '../../types/transition.ts';
import { type Run, withRuns } from './container-lanes.ts';
import type { Measured } from './pressure-lanes.ts';

/** What is known of the pod or the chart in view. */
export interface Sight {
  actors: readonly ActorView[];
  /** Null: there is no such pod. Undefined: not known yet. */
  pod: PodView | null | undefined;
  /** As it was last, also after it has gone. */
  last: PodView | undefined;
  sentences: readonly string[];
  /** The end of a pod that is gone. */
  end: PodEnd | undefined;
  /** The newest first. */
  transitions: readonly Transition[];
  lost: number;
  /** Of the containers, as far as they were seen. */
  runs: readonly Run[];
  /** Of the node. Undefined: not known yet. */
  pressure: PressureView | null | undefined;
  /** What was measured while the view is open, the oldest first. */
  measured: readonly Measured[];
  startedMs: number | undefined;
  nodeEvents: readonly CoreEvent[];
  charts: readonly ChartActivity[];
  gone: readonly GoneRow[] | undefined;
}

const TRANSITIONS_MAX = 1_000;
/** Six hours. */
const MEASURED_MAX = 2_160;
const AGAIN_MS = 2_000;

const nothingSeen = (): Sight => ({
  actors: [],
  pod: undefined,
  last: undefined,
  sentences: [],
  end: undefined,
  transitions: [],
  lost: 0,
  runs: [],
  pressure: undefined,
  measured: [],
  startedMs: undefined,
  nodeEvents: [],
  charts: [],
  gone: undefined,
});

export class News {
  readonly rows = new Map<string, PodRow>();
  node: NodeView | undefined;
  sight = nothingSeen();
  isConnected = true;
  /** The agent's clock minus that of the browser. */
  #clockAheadMs = 0;
  /** Rises with each change of the rows. */
  version = 0;
  readonly #onChange: () => void;
  #overview: EventSource | undefined;
  #look: EventSource | undefined;
  #lookPath: string | undefined;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
    document.addEventListener('visibilitychange', () => this.#follow());
    this.#follow();
  }

  /** The agent's time. */
  now(): number {
    return Date.now() + this.#clockAheadMs;
  }

  /** `pod/default/web`, `chart/eviction`; undefined: only the overview. Returns whether the view has changed. */
  lookAt(path: string | undefined): boolean {
    if (path === this.#lookPath) return false;
    this.#lookPath = path;
    this.sight = nothingSeen();
    this.#look?.close();
    this.#look = undefined;
    this.#follow();
    return true;
  }

  #follow(): void {
    if (document.hidden) {
      this.#overview?.close();
      this.#look?.close();
      this.#overview = this.#look = undefined;
      return;
    }
    this.#overview ??= this.#open('overview', () => (this.#overview = undefined));
    if (this.#lookPath !== undefined)
      this.#look ??= this.#open(this.#lookPath, () => (this.#look = undefined));
  }

  #open(path: string, forget: () => void): EventSource {
    const stream = new EventSource(`/ui/${path}`);
    stream.onmessage = ({ data }: MessageEvent<string>) => {
      this.isConnected = true;
      this.#take(JSON.parse(data) as PageNews);
      this.#onChange();
    };
    stream.onerror = () => {
      this.isConnected = false;
      this.#onChange();
      stream.close();
      forget();
      setTimeout(() => this.#follow(), AGAIN_MS);
    };
    return stream;
  }

  #take(news: PageNews): void {
    switch (news.type) {
      case 'hello':
        this.rows.clear();
        this.version += 1;
        this.node = news.node;
        this.#clockAheadMs = news.nowMs - Date.now();
        return;
      case 'node':
        this.node = news.node;
        return;
      case 'pods':
        for (const row of news.rows) this.rows.set(row.uid, withEarlierTrouble(row, this.rows.get(row.uid)));
        for (const uid of news.gone) this.rows.delete(uid);
        this.version += 1;
        return;
      case 'actors':
        this.sight.actors = news.actors;
        return;
      case 'pod':
        this.sight.pod = news.pod;
        this.sight.sentences = news.sentences;
        this.sight.end = news.end;
        if (news.pod === null) {
          const { last } = this.sight;
          if (last !== undefined && news.events !== undefined)
            this.sight.last = { ...last, events: news.events };
          return;
        }
        this.sight.last = news.pod;
        this.sight.runs = withRuns(this.sight.runs, news.pod);
        return;
      case 'transitions':
        this.sight.transitions = [...news.transitions.toReversed(), ...this.sight.transitions].slice(
          0,
          TRANSITIONS_MAX,
        );
        this.sight.lost += news.lost;
        return;
      case 'past':
        this.sight.transitions = withPast(this.sight.transitions, news.transitions);
        return;
      case 'pressure':
        this.sight.pressure = news.pressure;
        this.sight.measured = [...this.sight.measured, ...measuredIn(news.pressure)].slice(-MEASURED_MAX);
        this.sight.startedMs = news.startedMs;
        this.sight.nodeEvents = news.events;
        return;
      case 'charts':
        this.sight.charts = news.charts;
        return;
      case 'gone':
        this.sight.gone = news.rows;
    }
  }
}

function measuredIn(pressure: PressureView | null): readonly Measured[] {
  return pressure === null ? [] : [{ atMs: pressure.measuredMs, figures: pressure.figures }];
}

/** `past`: the oldest first. After a break of the stream the past has come once more. */
function withPast(known: readonly Transition[], past: readonly Transition[]): readonly Transition[] {
  const lastMs = past.at(-1)?.atMs ?? 0;
  return [...known.filter(({ atMs }) => atMs > lastMs), ...past.toReversed()];
}

/** A pod that fails again and again stays in trouble meanwhile, and keeps its place in the list. */
function withEarlierTrouble(row: PodRow, before: PodRow | undefined): PodRow {
  const earlierMs = before?.health.sinceMs;
  const isSame = row.health.kind === 'attention' && before?.health.kind === 'attention';
  if (!isSame || earlierMs === undefined || earlierMs >= (row.health.sinceMs ?? earlierMs)) return row;
  return { ...row, health: { ...row.health, sinceMs: earlierMs } };
}
