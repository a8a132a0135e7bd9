import { beforeEach, expect, test } from '@jest/globals';
import { RANK, type Rank, StartGate } from '../../../../src/agent/runtime/pods/start-gate.ts';
import { settled, VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { testContext } from '../../../support/test-context.ts';

let clock: VirtualClock;
let gate: StartGate;
/** The starts that have begun, in order. */
let inside: string[];
let abort: AbortController;

beforeEach(() => {
  clock = new VirtualClock(0);
  gate = new StartGate(testContext({ clock }), 2);
  inside = [];
  abort = new AbortController();
});

/** A start that runs until the test ends it. */
function begin(name: string, rank: Rank = RANK.sandbox) {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const passed = gate.pass(rank, abort.signal, () => {
    inside.push(name);
    return promise;
  });
  passed.catch(() => undefined);
  return { passed, end: () => resolve(name), fail: () => reject(new Error(name)) };
}

test('starts beyond the limit wait; when a start ends, the next one begins', async () => {
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

test('a container whose pod has its sandbox starts before the sandboxes of other pods', async () => {
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

test('a start that hangs frees its place after 5 s, and only once', async () => {
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

test('a start that is aborted while it runs is awaited to its end (I2)', async () => {
  const it = begin('a');
  await settled();
  abort.abort(new Error('given up'));
  it.end();
  expect(await it.passed).toBe('a');
});
