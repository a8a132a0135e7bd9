import { asOneMessage } from '../../../../src/agent/policies/formats/go-text.ts';
import { describe, expect, test } from '@jest/globals';
import { formValues } from '../../../../src/agent/policies/server/log-options.ts';
import {
  byteRange,
  contentType,
  fileListing,
  journalArguments,
  onlyFile,
  queryProblems,
  type SystemLogQuery,
  systemLogQuery,
} from '../../../../src/agent/policies/server/system-log-query.ts';

function read(text: string): SystemLogQuery {
  const { query, problems } = systemLogQuery(formValues(text));
  expect(problems).toEqual([]);
  if (!query) throw new Error('nothing is asked');
  return query;
}

const unreadable = (text: string) => asOneMessage(systemLogQuery(formValues(text)).problems);
const refused = (text: string, fileProblem?: string) => asOneMessage(queryProblems(read(text), fileProblem));

describe('what is asked', () => {
  test('may be nothing', () => {
    for (const text of ['', 'other=1', 'tailLines=&boot=&sinceTime='])
      expect(systemLogQuery(formValues(text))).toEqual({ query: undefined, problems: [] });
  });

  test('are services, and files where there is a slash', () => {
    expect(read('query=kubelet&query=%20&query=crio')).toMatchObject({
      services: ['kubelet', 'crio'],
      files: [],
    });
    expect(read('query=/syslog')).toMatchObject({ services: [], files: ['/syslog'] });
    expect(read('query=a%5Cb')).toMatchObject({ services: [], files: ['a\\b'] });
  });

  test('is a file alone only without anything else', () => {
    expect(onlyFile(read('query=/syslog'))).toBe('syslog');
    expect(onlyFile(read('query=apt/history.log'))).toBe('apt/history.log');
    for (const text of ['query=/a&query=/b', 'query=/a&query=b', 'query=/a&boot=0', 'query=a'])
      expect(onlyFile(read(text))).toBeUndefined();
  });

  test.each([
    ['query=', 'query: Invalid value: [""]: query cannot be empty'],
    ['query=%20&query=', 'query: Invalid value: [" ",""]: query cannot be empty'],
    ['query=a&sinceTime=soon', 'sinceTime: Invalid value: "soon": invalid time format'],
    ['query=a&untilTime=2026-01-01', 'untilTime: Invalid value: "2026-01-01": invalid time format'],
    ['boot=x', 'boot: Invalid value: "x": strconv.Atoi: parsing "x": invalid syntax'],
    [
      'tailLines=9223372036854775808',
      'tailLines: Invalid value: "9223372036854775808": strconv.Atoi: parsing "9223372036854775808": value out of range',
    ],
    [
      'sinceTime=a&untilTime=b',
      '[sinceTime: Invalid value: "a": invalid time format, untilTime: Invalid value: "b": invalid time format]',
    ],
  ])('%s cannot be read', (text, problem) => {
    expect(unreadable(text)).toBe(problem);
  });
});

describe('what cannot be asked', () => {
  test.each([
    ['boot=0', 'query: Required value: cannot be empty with options'],
    ['query=/a&query=b', 'query: Invalid value: "[/a], [b]": cannot specify a file and service'],
    ['query=/a&query=/b', 'query: Invalid value: ["/a","/b"]: cannot specify more than one file'],
    ['query=/a&tailLines=3', 'query: Invalid value: ["/a"]: cannot specify file with options'],
    ['query=a%20b', 'query: Invalid value: "a b": input contains unsupported characters'],
    ['query=a&query=b&query=c&query=d&query=e', 'query: Too many: 5: must have at most 4 items'],
    ['query=a&pattern=(%22', 'pattern: Invalid value: "(\\"": error parsing regexp: missing closing ): `("`'],
    ['query=a&boot=1', 'boot: Invalid value: 1: must be less than 1'],
    ['query=a&tailLines=-1', 'tailLines: Invalid value: -1: must be between 0 and 100000, inclusive'],
    ['query=a&tailLines=100001', 'tailLines: Invalid value: 100001: must be between 0 and 100000, inclusive'],
    [
      'query=a&sinceTime=2026-01-02T00:00:00Z&untilTime=2026-01-01T00:00:00.5%2B02:00',
      'untilTime: Invalid value: "2026-01-01T00:00:00.5+02:00": must be after `sinceTime`',
    ],
    [
      'query=a&sinceTime=2026-01-02T00:00:00Z&untilTime=2026-01-01T00:00:00Z',
      'untilTime: Invalid value: "2026-01-01T00:00:00Z": must be after `sinceTime`',
    ],
  ])('%s is refused', (text, problem) => {
    expect(refused(text)).toBe(problem);
  });

  test('is a name of more than 256 bytes', () => {
    expect(refused(`query=${'x'.repeat(256)}`)).toBe('');
    expect(refused(`query=${'x'.repeat(257)}`)).toContain('length must be less than 256');
  });

  test('is a file that cannot be opened', () => {
    expect(refused('query=/a', 'statat a: no such file or directory')).toBe(
      'query: Invalid value: ["/a"]: statat a: no such file or directory',
    );
  });

  test('equal entries are listed once', () => {
    expect(refused('query=a%20b&query=a%20b')).toBe(
      'query: Invalid value: "a b": input contains unsupported characters',
    );
  });

  test('everything else can be asked', () => {
    const all =
      'query=kube-let_1@a.service:b&tailLines=100000&boot=-3&pattern=a%2B&sinceTime=2026-01-01T00:00:00Z';
    expect(refused(all)).toBe('');
  });
});

test('journalctl gets the options, and times as moments', () => {
  const since = 'sinceTime=1970-01-01T02:00:05.9%2B02:00&untilTime=1970-01-01T00:00:10Z';
  const query = read(`query=a&query=b&${since}&tailLines=7&boot=-1&pattern=err.*`);
  expect(journalArguments(query, query.services)).toEqual([
    '--utc',
    '--no-pager',
    '--output=short-precise',
    '--since=@5',
    '--until=@10',
    '--pager-end',
    '--lines=7',
    '--unit=a',
    '--unit=b',
    '--grep=err.*',
    '--boot',
    '-1',
  ]);
  expect(journalArguments(read('query=a'), ['a'])).toEqual([
    '--utc',
    '--no-pager',
    '--output=short-precise',
    '--unit=a',
  ]);
});

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
