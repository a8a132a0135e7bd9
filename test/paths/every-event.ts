import { afterAll, expect, test } from '@jest/globals';
import type { AnyStateMachine, SnapshotFrom } from 'xstate';
import { Coverage } from './coverage.ts';
import { type Environment, shortestPaths } from './paths.ts';
import { replaying } from './replaying.ts';

/** An actor in the first state of its machine, with its world. */
interface Replayed<Machine extends AnyStateMachine> {
  readonly state: SnapshotFrom<Machine>;
  /** Brings the event of that name about. */
  step(name: string): Promise<void>;
  stop(): Promise<void>;
}

export interface EveryEvent<Machine extends AnyStateMachine> {
  readonly environment: Environment<Machine>;
  /** There are more paths than that. */
  readonly moreThan: number;
  /** In what the actor's state has to be that of the machine. */
  readonly essence: (state: SnapshotFrom<Machine>) => unknown;
  readonly begin: (coverage: Coverage) => Replayed<Machine>;
}

/** Tests that an actor follows its machine, whatever comes in whatever state, and that this covers all of the machine. */
export function testEveryEvent<Machine extends AnyStateMachine>({
  environment,
  moreThan,
  essence,
  begin,
}: EveryEvent<Machine>): void {
  const coverage = new Coverage(environment.machine);

  afterAll(() => coverage.print('all events in all states'));

  test('every event in every state', async () => {
    const paths = shortestPaths(environment);
    expect(paths.length).toBeGreaterThan(moreThan);
    for (const path of paths) {
      const it = begin(coverage);
      const steps = async () => {
        for (const { name, after } of path) {
          await it.step(name);
          expect(essence(it.state)).toEqual(essence(after));
        }
      };
      await replaying({ path, coverage, steps, end: () => it.stop() });
    }
  });

  test('every state, transition and guard is covered', () => {
    expect(coverage.uncovered()).toEqual([]);
  });
}
