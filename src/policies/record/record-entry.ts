/** What a record of the flight recorder says, entry by entry. */
import type { Transition } from '../../types/transition.ts';

/** Where a session comes from. */
export interface SessionFacts {
  /** The version of Statelet. */
  readonly program: string;
  readonly pid: number;
  /** The name of the node. */
  readonly node: string;
}

/** How an actor was: its state, and what its context held as far as it is recorded. */
export interface RecordedSnapshot {
  readonly state: unknown;
  readonly context: Readonly<Record<string, unknown>>;
  /** Something long was cut off. */
  readonly isCut: boolean;
}

/** A transition, and what the record says beside it. */
export interface RecordedTransition {
  readonly type: 'transition';
  readonly transition: Transition;
  /** How the actor was just before it, where that does not follow from its transition before. */
  readonly before?: RecordedSnapshot;
  /** Something long was cut off from its data. */
  readonly isCut?: true;
  /** It has no event of its own: it follows from the actor's transition before. */
  readonly follows?: true;
}

export type RecordEntry =
  | RecordedTransition
  /** An agent began to write. */
  | ({ readonly type: 'began'; readonly atMs: number } & SessionFacts)
  /** The disk was too slow for that many transitions. */
  | { readonly type: 'lost'; readonly atMs: number; readonly count: number }
  /** A session of a version that this reader does not know. */
  | { readonly type: 'unknown'; readonly version: number };
