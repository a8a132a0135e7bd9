import { describe, expect, test } from '@jest/globals';
import { byteRange, contentType, fileListing } from '../../../src/policies/server/file-listing.ts';

const files = (...names: readonly string[]) => names.map((name) => ({ name, isFolder: false }));
const links = (page: string) => page.split('\n').slice(3, -2);

describe('the list of a folder', () => {
  test('is a page as of Go', () => {
    expect(fileListing([...files('b.log'), { name: 'a', isFolder: true }])).toBe(
      '<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n' +
        '<a href="a/">a/</a>\n<a href="b.log">b.log</a>\n</pre>\n',
    );
  });

  test.each([
    ['b c<&"\'>.txt', '<a href="b%20c%3C&%22%27%3E.txt">b c&lt;&amp;&#34;&#39;&gt;.txt</a>'],
    ['é.log', '<a href="%C3%A9.log">é.log</a>'],
    [
      "-_.~$&+,;=@!*()'[]?#%",
      '<a href="-_.~$&+,;=@%21%2A%28%29%27%5B%5D%3F%23%25">-_.~$&amp;+,;=@!*()&#39;[]?#%</a>',
    ],
    ['javascript:1', '<a href="./javascript:1">javascript:1</a>'],
  ])('links to %s', (name, want) => {
    expect(links(fileListing(files(name)))).toEqual([want]);
  });

  test('is sorted by bytes, folders by their name without the slash', () => {
    const sorted = links(fileListing([...files('é', 'a.b', 'B', 'a-b', 'z'), { name: 'a', isFolder: true }]));
    expect(sorted.map((link) => link.replaceAll(/<[^>]*>/g, ''))).toEqual([
      'B',
      'a/',
      'a-b',
      'a.b',
      'z',
      'é',
    ]);
  });
});

test.each([
  ['hello\n', 'text/plain; charset=utf-8'],
  ['\u001b[31mred\u001b[0m\t\r\n', 'text/plain; charset=utf-8'],
  ['<html><script>alert(1)</script>', 'text/plain; charset=utf-8'],
  ['', 'text/plain; charset=utf-8'],
  ['a\u0000b', 'application/octet-stream'],
])('the content %j is %s', (text, want) => {
  expect(contentType(Buffer.from(text))).toBe(want);
});

test('compressed logs are known', () => {
  expect(contentType(Uint8Array.of(0x1f, 0x8b, 0x08, 0))).toBe('application/x-gzip');
});

test.each([
  [undefined, undefined],
  ['bytes=0-', { start: 0, end: 9 }],
  ['bytes=2-4', { start: 2, end: 4 }],
  ['bytes=2-400', { start: 2, end: 9 }],
  ['bytes=-3', { start: 7, end: 9 }],
  ['bytes=-30', { start: 0, end: 9 }],
  ['bytes=10-', 'none'],
  ['bytes=-0', 'none'],
  ['bytes=4-2', undefined],
  ['bytes=0-1,3-4', undefined],
  ['bytes=-', undefined],
  ['lines=1-2', undefined],
])('of ten bytes, "Range: %s" means %j', (header, want) => {
  expect(byteRange(header, 10)).toEqual(want);
});
