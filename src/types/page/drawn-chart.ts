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
  readonly events: readonly string[];
  readonly labels: readonly { readonly x: number; readonly y: number; readonly text: string }[];
}

/** What a machine does on an event, in the order in which it tries. */
export interface ChartWay {
  readonly from: string;
  /** Undefined: the state is not left. */
  readonly to?: string;
  /** `SyncPodKill [shortensGracePeriod] / abortStop` */
  readonly label: string;
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
  readonly edges: readonly DrawnEdge[];
  readonly ways: readonly ChartWay[];
}
