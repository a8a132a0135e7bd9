/** What the page shows of a node, its pods and its actors. All times are Unix milliseconds. */
import type { CoreEvent, Pod, PodStatus } from '../kubernetes.ts';

/** A pod in the table. */
export interface PodRow {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
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
