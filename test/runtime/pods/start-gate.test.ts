import { beforeEach, expect, test } from '@jest/globals';
import { RANK, type Rank, StartGate } from '../../../src/runtime/pods/start-gate.ts';
import { settled, VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';

let clock: VirtualClock;
let gate: StartGate;
/** Who has been let in, in that order. */
let inside: string[];
let abort: AbortController;

beforeEach(() => {
  clock = new VirtualClock(0);
  gate = new StartGate({ clock, atOnce: 2 });
  inside = [];
  abort = new AbortController();
});

/** A start that takes until it is told to end. */
function begin(name: string, rank: Rank = RANK.sandbox) {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const passed = gate.pass(rank, abort.signal, () => {
    inside.push(name);
    return promise;
  });
  passed.catch(() => undefined);
  return { passed, end: () => resolve(name), fail: () => reject(new Error(name)) };
}

test('starts beyond the limit wait; one that ends lets the next one begin', async () => {
  const [first] = [begin('a'), begin('b'), begin('c'), begin('d')];
  await settled();
  expect(inside).toEqual(['a', 'b']);
  first.end();
  expect(await first.passed).toBe('a');
  await settled();
  expect(inside).toEqual(['a', 'b', 'c']);
});

test('a start that fails lets the next one begin, too', async () => {
  const [first] = [begin('a'), begin('b'), begin('c')];
  await settled();
  first.fail();
  await expect(first.passed).rejects.toThrow('a');
  await settled();
  expect(inside).toEqual(['a', 'b', 'c']);
});

test('a container of a pod that has its sandbox goes before the sandboxes of others', async () => {
  const [first] = [
    begin('a'),
    begin('b'),
    begin('sandbox 1'),
    begin('sandbox 2'),
    begin('c', RANK.container),
  ];
  await settled();
  first.end();
  await settled();
  expect(inside).toEqual(['a', 'b', 'c']);
});

test('a start that hangs gives its place up after 5 s, and only once', async () => {
  const hung = begin('a');
  begin('b');
  begin('c');
  begin('d');
  begin('e');
  await settled();
  await clock.advance(5_000);
  await settled();
  expect(inside).toEqual(['a', 'b', 'c', 'd']);
  hung.end();
  await hung.passed;
  await settled();
  expect(inside).toEqual(['a', 'b', 'c', 'd']);
});

test('a start that is aborted while it waits never begins, and takes no place (I2)', async () => {
  const [first] = [begin('a'), begin('b')];
  const other = new AbortController();
  const late = gate.pass(RANK.sandbox, other.signal, () => Promise.resolve(inside.push('late')));
  begin('c');
  other.abort(new Error('given up'));
  await expect(late).rejects.toThrow('given up');
  first.end();
  await settled();
  expect(inside).toEqual(['a', 'b', 'c']);
});

test('one that is aborted inside is awaited to its end (I2)', async () => {
  const it = begin('a');
  await settled();
  abort.abort(new Error('given up'));
  it.end();
  expect(await it.passed).toBe('a');
});
