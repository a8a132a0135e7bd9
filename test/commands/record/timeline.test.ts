import { expect, test } from '@jest/globals';
import { TimelineText } from '../../../src/commands/record/timeline.ts';
import type { Transition } from '../../../src/types/transition.ts';

const whole = 2 ** 40;

function textOf(figures: readonly object[], more: Partial<Transition> = {}): string {
  const own = {
    atMs: 0,
    chart: 'eviction',
    actor: 'eviction',
    event: 'EVALUATED',
    from: 'A',
    to: 'A',
    actions: [],
  };
  const transition = { ...own, data: { evaluation: { figures } }, ...more };
  return new TimelineText().of({ type: 'transition', transition });
}

test('a measurement for eviction shows how much was left, in readable units', () => {
  const text = textOf([
    { signal: 'memory.available', left: 18.25 * 2 ** 30, whole },
    { signal: 'nodefs.inodesFree', left: 16_059_287, whole },
    { signal: 'io.pressure.full.avg10', left: 97, whole: 100 },
  ]);
  expect(text).toBe(
    '1970-01-01T00:00:00.000Z  eviction    EVALUATED        A ' +
      '(memory.available 18.2Gi, nodefs.inodesFree 16059287, io.pressure.full.avg10 3%)\n',
  );
});

test('a measurement whose figures were not recorded is shown without figures', () => {
  expect(textOf([])).toMatch(/ A\n$/u);
  expect(textOf([], { data: {} })).toMatch(/ A\n$/u);
});

test('foreign text in a record makes no second line, and strange numbers are accepted', () => {
  const text = textOf([
    { signal: 'memory.available', left: 1e300, whole },
    { signal: 'memory.available', left: -0.5, whole },
    { signal: 'a\nb.avg10', left: 1e-9, whole },
  ]);
  expect(text.split('\n')).toHaveLength(2);
});
