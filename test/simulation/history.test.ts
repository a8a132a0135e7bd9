import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { History, type Subject } from '../../src/simulation/history.ts';

/** A history with a clock that the test sets. */
function bed() {
  const lines: string[] = [];
  const clock = { ms: 0 };
  const history = new History(
    () => clock.ms,
    (line) => lines.push(line),
  );
  const tell = (atMs: number, subject: Subject, what: string, isMinor = false) => {
    clock.ms = atMs;
    history.add(subject, what, isMinor);
  };
  return { history, lines, tell };
}

const NODE: Subject = { node: 1 };
const pod = (name: string, uid?: string): Subject => ({ node: 1, name, ...(uid !== undefined && { uid }) });

test('a line has the time since the start, the node, pod name and UID, and what happened', () => {
  const { lines, tell } = bed();
  tell(0, NODE, 'the agent starts');
  tell(61_005, pod('web'), 'is created');
  tell(36_000_000, pod('web', 'uid-1'), 'has ended');
  expect(lines).toEqual([
    '0:00:00.000 node-1: the agent starts',
    '0:01:01.005 node-1 web: is created',
    '10:00:00.000 node-1 web uid-1: has ended',
  ]);
});

test('length and digest are those of all lines, also of minor ones', () => {
  const { history, lines, tell } = bed();
  tell(0, NODE, 'one');
  tell(1, pod('web', 'uid-1'), 'two', true);
  const digest = createHash('sha256')
    .update(lines.map((line) => `${line}\n`).join(''))
    .digest('hex');
  expect([history.length, history.digest()]).toEqual([2, digest]);
  tell(2, NODE, 'three');
  expect(history.digest()).not.toBe(digest);
});

describe('the story of a pod', () => {
  const whatOf = (lines: readonly string[]) => lines.map((line) => line.replace(/^.*?: /, ''));

  test('is in order, has the lines of its node meanwhile, and none of other pods and nodes', () => {
    const { history, tell } = bed();
    tell(0, NODE, 'the agent starts');
    tell(1, pod('web'), 'is created');
    tell(2, pod('db', 'uid-2'), 'starts');
    tell(3, pod('web', 'uid-1'), 'starts');
    tell(4, NODE, 'the agent is killed');
    tell(5, { node: 2 }, 'the agent is stopped');
    tell(6, { node: 2, name: 'web', uid: 'uid-1' }, 'is another');
    tell(7, pod('web', 'uid-1'), 'ends');
    expect(whatOf(history.of(pod('web', 'uid-1')))).toEqual([
      'is created',
      'starts',
      'the agent is killed',
      'ends',
    ]);
  });

  test('begins one line before its first line, and leaves out earlier pods of the name', () => {
    const { history, tell } = bed();
    tell(0, pod('web'), 'the first is created');
    tell(1, pod('web', 'uid-1'), 'starts');
    tell(2, pod('web', 'uid-1'), 'ends');
    tell(3, pod('web'), 'the second is created');
    tell(4, pod('web', 'uid-2'), 'starts');
    expect(whatOf(history.of(pod('web', 'uid-2')))).toEqual(['the second is created', 'starts']);
  });

  test('has no minor lines', () => {
    const { history, lines, tell } = bed();
    tell(0, pod('web'), 'is created');
    tell(1, pod('web', 'uid-1'), 'is read', true);
    tell(2, pod('web', 'uid-1'), 'starts');
    expect(lines).toHaveLength(3);
    expect(whatOf(history.of(pod('web', 'uid-1')))).toEqual(['is created', 'starts']);
  });

  test('of a node has the lines about the node alone', () => {
    const { history, tell } = bed();
    tell(0, NODE, 'the agent starts');
    tell(1, pod('web', 'uid-1'), 'starts');
    expect(whatOf(history.of(NODE))).toEqual(['the agent starts']);
  });

  test('has only the latest lines if there are too many', () => {
    const { history, tell } = bed();
    for (let line = 0; line < 100_000; line++) tell(line, pod('web', 'uid-1'), `line ${line}`);
    const kept = whatOf(history.of(pod('web', 'uid-1')));
    expect([kept.length >= 300, kept.length <= 600, kept.at(-1)]).toEqual([true, true, 'line 99999']);
  });
});
