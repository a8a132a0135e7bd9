/** Runs the charts of this version through a record: each actor by itself, from how it was recorded, with the events that it got. */
import type { AnyStateMachine } from 'xstate';
import type { RecordedTransition, RecordEntry } from '../policies/record-entry.ts';
import { type Difference, type Obstacle, ReplayedActor } from './replayed-actor.ts';
import { Stepper } from './stepped-machine.ts';

export interface ReplayCounts {
  readonly actors: number;
  /** All, those that cannot be replayed too. */
  readonly transitions: number;
  readonly differences: number;
  readonly notReplayed: ReadonlyMap<Obstacle, number>;
}

export class Replay {
  readonly #machines: Readonly<Record<string, AnyStateMachine | undefined>>;
  readonly #stepper = new Stepper();
  /** Of the session. */
  readonly #actors = new Map<string, ReplayedActor>();
  readonly #names = new Set<string>();
  readonly #notReplayed = new Map<Obstacle, number>();
  #transitions = 0;
  /** Of the session's latest transition. */
  #latestMs = 0;
  #differences = 0;

  /** `machines`: by the names of their charts. */
  constructor(machines: Readonly<Record<string, AnyStateMachine | undefined>>) {
    this.#machines = machines;
  }

  /** The differences that the entry shows. Entries come in the order of the record. */
  read(entry: RecordEntry): readonly Difference[] {
    if (entry.type === 'transition') return this.#counted(this.#replay(entry));
    if (entry.type === 'lost') for (const actor of this.#actors.values()) actor.forgetAhead();
    return entry.type === 'began' ? this.end() : [];
  }

  /** The session is over. */
  end(): readonly Difference[] {
    const differences = [...this.#actors.values()].flatMap((actor) => actor.end(this.#latestMs));
    this.#actors.clear();
    return this.#counted(differences);
  }

  counts(): ReplayCounts {
    return {
      actors: this.#names.size,
      transitions: this.#transitions,
      differences: this.#differences,
      notReplayed: this.#notReplayed,
    };
  }

  #replay(entry: RecordedTransition): readonly Difference[] {
    const { atMs, chart, actor: name } = entry.transition;
    this.#latestMs = atMs;
    this.#transitions += 1;
    this.#names.add(name);
    const actor = this.#actors.get(name) ?? this.#begin(name, chart);
    const { differences, obstacle } = actor.replay(entry);
    if (obstacle !== undefined) this.#notReplayed.set(obstacle, (this.#notReplayed.get(obstacle) ?? 0) + 1);
    return differences;
  }

  #begin(name: string, chart: string): ReplayedActor {
    const machine = Object.hasOwn(this.#machines, chart) ? this.#machines[chart] : undefined;
    const actor = new ReplayedActor(machine, this.#stepper);
    this.#actors.set(name, actor);
    return actor;
  }

  #counted(differences: readonly Difference[]): readonly Difference[] {
    this.#differences += differences.length;
    return differences;
  }
}
