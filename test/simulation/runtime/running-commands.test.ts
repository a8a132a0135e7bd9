import { describe, expect, test } from '@jest/globals';
import { outcomeOf, simulatedBed, startPod } from './simulated-bed.ts';

const bed = simulatedBed();
const { clock, runtime, simulated } = bed;
const start = (uid: string, ...words: readonly string[]) => startPod(bed, uid, words);

describe('a command in a simulated container', () => {
  test('ends after its own time', async () => {
    const { id } = await start('command', 'run');
    const done = runtime.execSync(id, ['fail', 'takes=3s', 'code=2'], 0);
    const outcome = outcomeOf(done);
    await clock.advance(2999);
    expect(outcome.told).toBeUndefined();
    await clock.advance(1);
    expect((await done).exitCode).toBe(2);
  });

  test('is killed at its time limit', async () => {
    const { id } = await start('command-limit', 'run');
    const outcome = outcomeOf(runtime.execSync(id, ['succeed', 'takes=10s'], 5));
    await clock.advance(5000);
    expect(outcome.told).toBe('DeadlineExceeded');
    expect(clock.armed).toBe(0);
  });

  test('ends with its container', async () => {
    const { id } = await start('command-container', 'run');
    const done = runtime.execSync(id, ['succeed', 'takes=10s'], 0);
    simulated.killContainer(id, 137);
    expect((await done).exitCode).toBe(137);
    expect(clock.armed).toBe(0);
  });

  test('with `until` ends the other way until its container has run that long', async () => {
    const { id } = await start('command-until', 'run');
    const code = async (...words: readonly string[]) => (await runtime.execSync(id, words, 0)).exitCode;
    const both = async () => [await code('succeed', 'until=5s'), await code('fail', 'until=5s', 'code=9')];
    expect(await both()).toEqual([1, 0]);
    await clock.advance(5000);
    expect(await both()).toEqual([0, 9]);
  });
});
