/** What a replay of a record finds. */
import type { TransitionKind } from '../types/transition.ts';

/** What an actor does: where it goes, by which guard, with which actions. */
export type Deed = Pick<TransitionKind, 'event' | 'from' | 'to' | 'guard' | 'actions'>;

/** Where the charts of this version act differently. */
export interface Difference {
  readonly atMs: number;
  readonly chart: string;
  readonly actor: string;
  /** Of the event that was sent. */
  readonly event: string;
  readonly from: string;
  /** Undefined: nothing more was recorded of that event. */
  readonly recorded: Deed | undefined;
  /** Undefined: the event changes nothing any more. */
  readonly now: Deed | undefined;
  /** What the chart throws now. */
  readonly error?: string;
}

/** Why transitions cannot be replayed. */
export type Obstacle =
  /** As in records of versions that wrote no contexts, and at the beginning of a damaged file. */
  | 'its beginning was not recorded'
  | 'this version has no such chart'
  | 'this version has no such state'
  | 'something is missing in the record'
  | 'its data was too long and has been cut'
  | 'it had not begun yet'
  | 'an effect or a decision failed';

export function deedOf({ event, from, to, guard, actions }: Deed): Deed {
  return { event, from, to, ...(guard !== undefined && { guard }), actions };
}

export function isSameDeed(one: Deed, other: Deed): boolean {
  return (
    one.event === other.event &&
    one.from === other.from &&
    one.to === other.to &&
    one.guard === other.guard &&
    one.actions.length === other.actions.length &&
    one.actions.every((action, index) => action === other.actions[index])
  );
}
