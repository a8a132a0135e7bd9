import { describe, expect, test } from '@jest/globals';
import { formatGoTime, parseGoTime, ZERO_TIME } from '../../../../src/agent/policies/formats/time.ts';
import {
  formValues,
  isRefusal,
  logViewOptions,
  podLogOptions,
  streamRefusal,
} from '../../../../src/agent/policies/server/log-options.ts';
import { seededRandom, type SeededRandom } from '../../../../src/simulation/plan/seeded-random.ts';
import { testVectors } from '../../../support/test-vectors.ts';

testVectors('logOptions');

test.each([
  ['tailLines=%2B3', { tailLines: 3 }],
  ['tailLines=-0', { tailLines: 0 }],
  ['tailLines=9223372036854775807', { tailLines: 2 ** 63 }],
  ['sinceTime=2030-01-01T5:00:00,5Z', { sinceTime: parseGoTime('2030-01-01T05:00:00.5Z') }],
  ['follow=fAlSe', {}],
])('%s is %j', (query, want) => {
  expect(podLogOptions(query)).toEqual(want);
});

test.each(['tailLines=-9223372036854775809', 'limitBytes=1_000', 'sinceSeconds=%EF%BC%91'])(
  '%s cannot be decoded',
  (query) => expect(podLogOptions(query)).toMatchObject({ status: 400 }),
);

describe('the lines that are wanted', () => {
  const NOW = Date.UTC(2030, 0, 1) + 0.5;
  const since = (query: string) => {
    const options = podLogOptions(query);
    if (isRefusal(options)) throw new Error(options.message);
    const { since: moment } = logViewOptions(options, NOW);
    return moment && formatGoTime({ ...moment, offsetMinutes: 0 });
  };

  test('begin at a moment, or some seconds ago', () => {
    expect(since('')).toBeUndefined();
    expect(since('sinceTime=2029-12-31T23:00:00.25Z')).toBe('2029-12-31T23:00:00.250000000Z');
    expect(since('sinceSeconds=60')).toBe('2029-12-31T23:59:00.000500000Z');
  });

  test('are all where the moment is empty', () => {
    expect(since('sinceTime=')).toBe(formatGoTime(ZERO_TIME));
  });

  test('begin at the later of both, which only vectors ask for', () => {
    const both = (text: string) => ({ sinceSeconds: 60, sinceTime: parseGoTime(text) ?? ZERO_TIME });
    const later = both('2029-12-31T23:59:30Z');
    expect(logViewOptions(later, NOW).since).toBe(later.sinceTime);
    expect(logViewOptions(both('2029-12-31T23:58:00Z'), NOW).since).toMatchObject({ nanos: 500_000 });
  });
});

/** Queries of pieces that are read in different ways. */
function drawnQuery(random: SeededRandom): string {
  const keys = [
    'tailLines',
    'tail',
    'limitBytes',
    'sinceSeconds',
    'sinceTime',
    'follow',
    'stream',
    'previous',
  ];
  const values = [
    '',
    '0',
    '1',
    '-1',
    '9223372036854775808',
    'all',
    'false',
    'All',
    'Stdout',
    'null',
    '%zz',
  ].concat([
    '2030-01-01T00:00:00Z',
    '2030-01-01T24:00:00Z',
    '1e400',
    '%00',
    '%ff%fe',
    '\u{1f600}',
    '9'.repeat(10_000),
    '1;tail=2',
    '=',
    '&',
  ]);
  const pair = () => `${random.pick(keys)}${random.pick(['=', '==', '', '%3d'])}${random.pick(values)}`;
  return Array.from({ length: random.integer(0, 6) }, pair).join(random.pick(['&', '&&', ';']));
}

test('any query is refused, or gives options within their bounds', () => {
  const random = seededRandom(15);
  const seen = new Set<string>();
  for (let round = 0; round < 5000; round += 1) {
    const query = drawnQuery(random);
    const options = podLogOptions(query);
    if (isRefusal(options)) {
      expect([400, 422]).toContain(options.status);
      seen.add(String(options.status));
      continue;
    }
    seen.add('read');
    const { tailLines = 0, limitBytes = 1, sinceSeconds = 1, sinceTime, stream = 'All' } = options;
    expect({ query, isBounded: tailLines >= 0 && limitBytes >= 1 && sinceSeconds >= 1 }).toEqual({
      query,
      isBounded: true,
    });
    expect(options.sinceSeconds !== undefined && sinceTime !== undefined).toBe(false);
    expect(['All', 'Stdout', 'Stderr']).toContain(stream);
    expect(streamRefusal(options) === undefined).toBe(stream === 'All');
  }
  expect([...seen].toSorted()).toEqual(['400', '422', 'read']);
});

const decoded = (query: string) => Object.fromEntries(formValues(query));

test('values of one name stay in their order', () => {
  expect(decoded('a=1&b=2&a=3')).toEqual({ a: ['1', '3'], b: ['2'] });
});

test('a plus is a blank, and an escape is a byte of UTF-8', () => {
  expect(decoded('a+b=c%20d+%C3%A9')).toEqual({ 'a b': ['c d é'] });
});

test('a name without a value has the empty one', () => {
  expect(decoded('a&b=&=c&&')).toEqual({ a: [''], b: [''], '': ['c'] });
});

test('a pair with a semicolon or a broken escape is left out, and the others stay', () => {
  expect(decoded('a=1;b=2&c=%zz&d=%4&e=5')).toEqual({ e: ['5'] });
});

test('bytes that are no UTF-8 become replacement characters', () => {
  expect(decoded('a=x%FFy%41%C3%A9')).toEqual({ a: ['x\uFFFDyAé'] });
});
