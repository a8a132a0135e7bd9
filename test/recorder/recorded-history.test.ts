import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { podOfActor } from '../../src/recorder/policies/record-entry.ts';
import { recordedHistory } from '../../src/recorder/recorded-history.ts';
import type { TransitionKind } from '../../src/types/transition.ts';

const KIND: TransitionKind = { chart: 'pod', event: 'SyncPodSync', from: 'A', to: 'B', actions: [] };

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'statelet-history-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Step {
  readonly actor: string;
  readonly atMs: number;
}

const path = (number: number) => join(folder, `${String(number).padStart(6, '0')}.jsonl`);

/** Appends a session as the flight recorder writes it. */
function segment(number: number, steps: readonly Step[], node = 'node-a'): void {
  const beganAt = steps[0]?.atMs ?? 0;
  const actors = [...new Set(steps.map(({ actor }) => actor))];
  const lines = [
    { record: 'statelet', version: 1, at: beganAt, program: '1.2.3', pid: 77, node },
    ...actors.map((id, index) => ({ actor: index + 1, id })),
    { kind: 1, ...KIND },
    ...steps.map(({ actor, atMs }, index) => [
      atMs - (steps[index - 1]?.atMs ?? beganAt),
      actors.indexOf(actor) + 1,
      1,
    ]),
  ];
  appendFileSync(path(number), `\n${lines.map((line) => JSON.stringify(line)).join('\n')}\n`);
}

const web = (atMs: number): Step => ({ actor: 'web_default u', atMs });
const other = (atMs: number): Step => ({ actor: 'other_default v', atMs });
const wants = (actor: string) => podOfActor(actor)?.name === 'web';
const times = async (limit: number, sinceMs = 0) =>
  (await recordedHistory(folder, { wants, limit, sinceMs })).map(({ atMs }) => atMs);

describe('the history in the record', () => {
  test('is that of the wanted actors, the oldest first, over all files and sessions', async () => {
    segment(1, [web(1), other(2), web(3)]);
    segment(1, [web(4)]);
    segment(2, [other(5)]);
    segment(3, [other(6), web(7)]);
    expect(await recordedHistory(folder, { wants, limit: 9 })).toEqual(
      [1, 3, 4, 7].map((atMs) => ({ atMs, actor: 'web_default u', ...KIND })),
    );
  });

  test('is cut to the newest, and to a time', async () => {
    segment(1, [web(1), web(2), web(3), web(4), web(5)]);
    segment(2, [web(6), web(7)]);
    expect(await times(1)).toEqual([7]);
    expect(await times(3)).toEqual([5, 6, 7]);
    expect(await times(9, 4)).toEqual([4, 5, 6, 7]);
  });

  test('ends at a time, and has only the transitions that are asked for', async () => {
    segment(1, [web(1), web(2), web(3), web(4)]);
    segment(2, [web(5), web(6)]);
    const keeps = ({ atMs }: { readonly atMs: number }) => atMs !== 2;
    const found = await recordedHistory(folder, { wants, limit: 9, untilMs: 3, keeps });
    expect(found.map(({ atMs }) => atMs)).toEqual([1, 3]);
  });

  test('is asked with the name of the node of its session', async () => {
    segment(1, [web(1)], 'node-a');
    segment(1, [web(2)], 'node-b');
    const ofB = await recordedHistory(folder, { wants: (_, node) => node === 'node-b', limit: 9 });
    expect(ofB.map(({ atMs }) => atMs)).toEqual([2]);
  });

  test('does not read files that are older than needed', async () => {
    segment(2, [web(3), web(4)]);
    segment(3, [web(5)]);
    // It cannot be read.
    mkdirSync(path(1));
    expect(await times(3)).toEqual([3, 4, 5]);
    await expect(times(4)).rejects.toThrow('EISDIR');
    utimesSync(path(1), 1, 1);
    expect(await times(4, 2_000)).toEqual([]);
  });

  test('passes over a line that is torn, and one whose end is not written yet', async () => {
    segment(1, [web(1)]);
    appendFileSync(path(1), '{"actor":2,"id":"to');
    segment(1, [web(2)]);
    appendFileSync(path(1), '[5,1');
    expect(await times(9)).toEqual([1, 2]);
  });

  test('is empty where nothing was recorded, and an error where the folder cannot be read', async () => {
    expect(await times(9)).toEqual([]);
    rmSync(folder, { recursive: true });
    expect(await times(9)).toEqual([]);
    writeFileSync(folder, 'a file where the folder should be');
    await expect(times(9)).rejects.toThrow('ENOTDIR');
  });

  test('lets others have their turn while it reads', async () => {
    const many = Array.from({ length: 200_000 }, (_, index) => web(index));
    segment(1, many);
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    expect(await times(2)).toEqual([199_998, 199_999]);
    isOver = true;
    expect(turns).toBeGreaterThan(10);
  });
});
