/**
 * One actor of a record, run again. After each transition that differs it is put back to what was recorded, so that one difference does
 * not bring forth others.
 */
import type { AnyMachineSnapshot, AnyStateMachine, EventObject } from 'xstate';
import type { RecordedSnapshot, RecordedTransition } from '../policies/record-entry.ts';
import { errorMessage } from '../../types/errors.ts';
import type { ActorSnapshot, Transition, TransitionKind } from '../../types/transition.ts';
import { afterRecorded, snapshotOf, type Step, type Stepper } from './stepped-machine.ts';

/** What came of one recorded transition. */
export interface Outcome {
  readonly differences: readonly Difference[];
  readonly obstacle?: Obstacle;
}

const AS_RECORDED: Outcome = { differences: [] };
/** The record leaves the name of the child out of the type of such an event. */
const OF_CHILD: readonly string[] = ['xstate.done.actor', 'xstate.error.actor'];

export class ReplayedActor {
  readonly #machine: AnyStateMachine | undefined;
  readonly #stepper: Stepper;
  #snapshot: AnyMachineSnapshot | undefined;
  #obstacle: Obstacle = 'its beginning was not recorded';
  /** Steps that the machine made for the latest event and that are not yet compared with the record. */
  #ahead: readonly Step[] = [];
  #event: EventObject = { type: '' };
  #latest: Transition | undefined;
  #isCut = false;
  /** It was put back: its context may not be the one that was recorded. */
  #isGuessed = false;
  /** A difference of the latest event was reported: what follows from it is not reported again. */
  #hasDiffered = false;

  constructor(machine: AnyStateMachine | undefined, stepper: Stepper) {
    this.#machine = machine;
    this.#stepper = stepper;
    if (machine === undefined) this.#obstacle = 'this version has no such chart';
  }

  /** How it was after its latest transition; undefined where that is not known. */
  snapshot(): RecordedSnapshot | undefined {
    if (this.#snapshot === undefined) return undefined;
    const { value: state, context } = this.#snapshot as ActorSnapshot;
    return { state, context: context as RecordedSnapshot['context'], isCut: this.#isCut || this.#isGuessed };
  }

  /** Whether it is one more step of the latest event. */
  goesOn({ transition, before, follows }: RecordedTransition): boolean {
    return before === undefined && (follows === true || this.#isNext(transition));
  }

  replay(entry: RecordedTransition): Outcome {
    const { transition, before, isCut } = entry;
    const goesOn = this.goesOn(entry);
    const leftOver = goesOn ? [] : this.end();
    if (before) this.#start(before);
    else if (this.#latest !== undefined && this.#latest.to !== transition.from)
      this.#lose('something is missing in the record');
    this.#latest = transition;
    if (isCut) this.#isCut = true;
    const { differences, ...outcome } = this.#follow(transition, goesOn);
    return { ...outcome, differences: [...leftOver, ...differences] };
  }

  /**
   * No more transitions of the latest event will come: steps that are ahead are not in the record. `lastMs`: of the session's latest
   * transition, behind which the record may be torn.
   */
  end(lastMs = Infinity): readonly Difference[] {
    const [step] = this.#ahead;
    this.#ahead = [];
    if (step === undefined || this.#latest === undefined || this.#isCut || this.#hasDiffered) return [];
    const { atMs, chart, actor } = this.#latest;
    if (atMs >= lastMs) return [];
    const { type: event } = this.#event;
    return [
      { atMs, chart, actor, event, from: step.kind.from, recorded: undefined, now: replayedStep(step.kind) },
    ];
  }

  /** The steps that are ahead may be recorded or not. */
  forgetAhead(): void {
    this.#ahead = [];
  }

  #start({ state, context, isCut }: RecordedSnapshot): void {
    this.#ahead = [];
    this.#isCut = isCut;
    this.#isGuessed = false;
    if (this.#machine === undefined) return;
    this.#snapshot = snapshotOf(this.#machine, state, context);
    if (this.#snapshot === undefined) this.#obstacle = 'this version has no such state';
  }

  #lose(obstacle: Obstacle): void {
    if (this.#snapshot === undefined) return;
    this.#snapshot = undefined;
    this.#ahead = [];
    this.#obstacle = obstacle;
  }

  /** Whether it is what the machine has done already: an event that the machine raises has no mark in the record. */
  #isNext(transition: Transition): boolean {
    const [step] = this.#ahead;
    return step !== undefined && isSameStep(step.kind, transition);
  }

  /** `goesOn`: it belongs to the latest event. */
  #follow(transition: Transition, goesOn: boolean): Outcome {
    if (transition.event === 'xstate.error') this.#lose('an effect or a decision failed');
    if (transition.event === 'xstate.init') this.#lose('it had not begun yet');
    const snapshot = this.#snapshot;
    if (snapshot === undefined) return { differences: [], obstacle: this.#obstacle };
    let error: string | undefined;
    if (goesOn && this.#hasDiffered) {
      this.#putBack(snapshot, transition);
      return AS_RECORDED;
    }
    if (!goesOn) {
      this.#hasDiffered = false;
      this.#event = eventOf(transition);
      try {
        this.#ahead = this.#stepper.step(snapshot, this.#event);
      } catch (thrown) {
        error = errorMessage(thrown);
      }
    }
    const [step, ...ahead] = this.#ahead;
    this.#ahead = ahead;
    if (step !== undefined && isSameStep(step.kind, transition)) {
      this.#snapshot = step.after;
      return AS_RECORDED;
    }
    return this.#differ(transition, snapshot, step, error);
  }

  #differ(
    transition: Transition,
    snapshot: AnyMachineSnapshot,
    step: Step | undefined,
    error: string | undefined,
  ): Outcome {
    this.#ahead = [];
    this.#hasDiffered = true;
    this.#putBack(snapshot, transition);
    if (this.#isCut) return { differences: [], obstacle: 'its data was too long and has been cut' };
    const { atMs, chart, actor, from } = transition;
    const difference: Difference = {
      ...{ atMs, chart, actor, event: this.#event.type, from },
      recorded: replayedStep(transition),
      now: step && replayedStep(step.kind),
      error,
    };
    return { differences: [difference] };
  }

  #putBack(snapshot: AnyMachineSnapshot, transition: Transition): void {
    this.#isGuessed = true;
    try {
      this.#snapshot = afterRecorded(snapshot, this.#event, transition);
    } catch {
      this.#snapshot = undefined;
    }
    if (this.#snapshot === undefined) this.#obstacle = 'this version has no such state';
  }
}

function eventOf({ event: type, data }: Transition): EventObject {
  const isOfChild = OF_CHILD.includes(type) && typeof data?.actorId === 'string';
  return { ...data, type: isOfChild ? `${type}.${String(data.actorId)}` : type };
}

/** A step as it is compared: where the actor goes, by which guard, with which actions. */
export type ReplayedStep = Pick<TransitionKind, 'event' | 'from' | 'to' | 'guard' | 'actions'>;

/** Where the charts of this version act differently. */
export interface Difference {
  readonly atMs: number;
  readonly chart: string;
  readonly actor: string;
  /** Of the event that was sent. */
  readonly event: string;
  readonly from: string;
  /** Undefined: nothing more was recorded of that event. */
  readonly recorded: ReplayedStep | undefined;
  /** Undefined: the event changes nothing any more. */
  readonly now: ReplayedStep | undefined;
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

function replayedStep({ event, from, to, guard, actions }: ReplayedStep): ReplayedStep {
  return { event, from, to, guard, actions };
}

function isSameStep(one: ReplayedStep, other: ReplayedStep): boolean {
  return (
    one.event === other.event &&
    one.from === other.from &&
    one.to === other.to &&
    one.guard === other.guard &&
    one.actions.length === other.actions.length &&
    one.actions.every((action, index) => action === other.actions[index])
  );
}
