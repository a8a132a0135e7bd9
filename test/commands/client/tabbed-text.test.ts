import { expect, test } from '@jest/globals';
import { tabbedText } from '../../../src/commands/client/tabbed-text.ts';

test.each([
  ['one column', ['a:\tx', 'long:\ty'], ['a:     x', 'long:  y']],
  ['a line without the column parts it', ['a:\tx', 'title', 'long:\ty'], ['a:  x', 'title', 'long:  y']],
  ['the last text is in no column', ['a\tb\tlong text', 'c\td\te'], ['a  b  long text', 'c  d  e']],
  [
    'an inner column has a block of its own',
    ['a\tb\tc', 'd\te', 'f\tlong\tg'],
    ['a  b  c', 'd  e', 'f  long  g'],
  ],
  ['empty cells take room', ['a\tb', '\tc'], ['a  b', '   c']],
  ['wide characters count for two', ['日本\tb', 'a\tc'], ['日本  b', 'a     c']],
])('%s', (_, lines, text) => {
  expect(tabbedText(lines)).toBe(`${text.join('\n')}\n`);
});
