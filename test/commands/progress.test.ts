import { expect, test } from '@jest/globals';
import { Progress } from '../../src/commands/progress.ts';

/** A stream that keeps the written text, and a clock that the test advances. */
function bed(isTTY?: boolean) {
  const written: string[] = [];
  const clock = { ms: 0 };
  const stream = { ...(isTTY !== undefined && { isTTY }), write: (text: string) => written.push(text) };
  const progress = new Progress(stream, () => clock.ms);
  const tell = (atMs: number, text: string) => {
    clock.ms = atMs;
    progress.tell(() => text);
  };
  return { written, progress, tell };
}

test('on a terminal one line is rewritten a few times a second, and removed at the end', () => {
  const { written, progress, tell } = bed(true);
  tell(249, 'too early');
  tell(250, 'one');
  tell(300, 'too early');
  tell(600, 'two');
  progress.clear();
  progress.clear();
  expect(written).toEqual(['\r\u001b[Kone', '\r\u001b[Ktwo', '\r\u001b[K']);
});

test('a log gets a line every half minute', () => {
  const { written, progress, tell } = bed();
  tell(29_999, 'too early');
  tell(30_000, 'one');
  tell(59_000, 'too early');
  tell(61_000, 'two');
  progress.clear();
  expect(written).toEqual(['one\n', 'two\n']);
});

test('the text is not computed when no line is due', () => {
  const { progress } = bed();
  progress.tell(() => {
    throw new Error('asked for');
  });
});
