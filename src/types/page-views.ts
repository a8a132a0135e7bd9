/** What the page shows of a node, its pods and its actors. All times are Unix milliseconds. */
import type { CoreEvent, Pod, PodStatus } from './kubernetes.ts';
import type { Transition } from './transition.ts';

/** `ending` is one whose end was requested; `done` has ended as it should. */
export type HealthKind = 'ok' | 'starting' | 'attention' | 'ending' | 'done' | 'failed';

export interface PodHealth {
  readonly kind: HealthKind;
  /** Since when, in Unix milliseconds. */
  readonly sinceMs?: number;
  /** Why it needs attention, where the state of its containers alone does not say it. */
  readonly because?: string;
  /** From then on its health is another one, if nothing happens before. */
  readonly untilMs?: number;
}

/** A pod in the table. */
export interface PodRow {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** As `statelet pods` and kubectl show it: `CrashLoopBackOff`. */
  readonly status: string;
  readonly health: PodHealth;
  /** Its health from `health.untilMs` on, if nothing happens until then. */
  readonly later?: PodHealth;
  /** `Syncing.Settled` */
  readonly state: string;
  readonly sinceMs?: number;
  readonly phase: string;
  readonly ready: number;
  readonly containers: number;
  readonly restarts: number;
  readonly nextTryMs?: number;
  /** The first of the sentences of `statelet why`. */
  readonly says: string;
}

/** Of a resource of the node: `cpu` in thousandths, all others in whole units. */
export interface RoomView {
  readonly resource: string;
  readonly requested: number;
  readonly allocatable: number;
}

export interface NodeView {
  readonly name: string;
  readonly isReady: boolean;
  readonly sentences: readonly string[];
  /** Those that hold: `MemoryPressure`. */
  readonly conditions: readonly string[];
  readonly room: readonly RoomView[];
  readonly version: string;
}

/** An actor that runs. */
export interface ActorView {
  readonly chart: string;
  readonly actor: string;
  /** The innermost states that it is in; several in a parallel state. */
  readonly states: readonly string[];
}

export interface PodView {
  readonly row: PodRow;
  readonly sentences: readonly string[];
  /** Without the values of secrets and of the environment. */
  readonly pod: Pod;
  readonly status: PodStatus | undefined;
  /** About this pod, the oldest first. */
  readonly events: readonly CoreEvent[];
}

/** What the actors of a chart do. */
export interface ChartActivity {
  readonly chart: string;
  readonly actors: number;
  /** How many are in each innermost state, the most first. */
  readonly states: readonly ActorsInState[];
}

export interface ActorsInState {
  readonly state: string;
  readonly count: number;
  /** One of them. */
  readonly actor: string;
}

/** How a pod that is not here any more has ended. */
export interface PodEnd {
  /** Why, in a word: `Evicted`. */
  readonly status: string;
  readonly kind: HealthKind;
}

/** What is known of a pod that is not here. */
export interface GonePod {
  readonly sentences: readonly string[];
  /** Undefined where it is not known to have been here. */
  readonly end?: PodEnd;
}

/** A pod that is not here any more. */
export interface GoneRow extends PodEnd {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly endedMs?: number;
  readonly says: string;
}

/** How much is left of what a signal of eviction is about, and below which of it pods are evicted: bytes, or a count. */
export interface PressureFigure {
  readonly signal: string;
  readonly left: number;
  readonly whole: number;
  readonly hard?: number;
  readonly soft?: number;
}

/** What the node may run short of, as `statelet explain-eviction` shows it: cells of tables. */
export interface PressureView {
  readonly thresholds: readonly (readonly string[])[];
  readonly rankings: readonly RankingView[];
  readonly measuredMs: number;
  readonly figures: readonly PressureFigure[];
}

export interface RankingView {
  readonly resource: string;
  readonly title: string;
  /** Which pod would go, and why. */
  readonly next: string;
  readonly rows: readonly (readonly string[])[];
}

/** One message of a stream. A list leaves out what has not changed. */
export type PageNews =
  | { readonly type: 'hello'; readonly nowMs: number; readonly node: NodeView; readonly total: number }
  | { readonly type: 'node'; readonly node: NodeView }
  | { readonly type: 'pods'; readonly rows: readonly PodRow[]; readonly gone: readonly string[] }
  /** The actors of the chart, or the pod, that is looked at. */
  | { readonly type: 'actors'; readonly actors: readonly ActorView[] }
  /** Null for a pod that is not here. `sentences` and `end` say what is known of it; `events` are those of one that was here. */
  | {
      readonly type: 'pod';
      readonly pod: PodView | null;
      readonly sentences: readonly string[];
      readonly end?: PodEnd;
      readonly events?: readonly CoreEvent[];
    }
  /** Null: no pod is evicted on this node, or it could not be measured. `events` are of the node, and of pods that it has evicted. */
  | {
      readonly type: 'pressure';
      readonly startedMs: number;
      readonly pressure: PressureView | null;
      readonly events: readonly CoreEvent[];
    }
  | { readonly type: 'charts'; readonly charts: readonly ChartActivity[] }
  /** The newest first. */
  | { readonly type: 'gone'; readonly rows: readonly GoneRow[] }
  /** What was recorded of it before the page was opened, the oldest first. */
  | { readonly type: 'past'; readonly transitions: readonly Transition[] }
  /** `lost`: how many were left out because the browser did not keep up. */
  | { readonly type: 'transitions'; readonly transitions: readonly Transition[]; readonly lost: number };

/** The charts of the page, laid out when the product is built. Coordinates are pixels from the left upper corner of the chart. */
export interface DrawnState {
  /** `Syncing.Settled`; empty for the whole machine. */
  readonly id: string;
  readonly title: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** Of a state with states inside: those that are entered with it. Empty for a state without. */
  readonly first: readonly string[];
  /** In words for people. */
  readonly says?: string;
  /** Why the state exists. */
  readonly about?: string;
}

/** One line for all ways between two states. */
export interface DrawnEdge {
  readonly from: string;
  readonly to: string;
  /** Of an SVG path. */
  readonly path: string;
  /** Each a row of its events: `SYNC_DONE, SYNC_FAILED`. */
  readonly labels: readonly { readonly x: number; readonly y: number; readonly text: string }[];
}

export interface DrawnChart {
  /** As `statelet charts` calls it. */
  readonly name: string;
  readonly about: string;
  readonly width: number;
  readonly height: number;
  readonly states: readonly DrawnState[];
  /** The dots from which initial states are reached. */
  readonly dots: readonly { readonly x: number; readonly y: number; readonly radius: number }[];
  /** Where the lines begin of what can happen in any of the states around. */
  readonly anys: readonly {
    readonly x: number;
    readonly y: number;
    readonly width: number;
    readonly height: number;
  }[];
  readonly edges: readonly DrawnEdge[];
  /** The states to which transitions lead, by the state in which they begin. */
  readonly leads: Readonly<Record<string, readonly string[]>>;
}
