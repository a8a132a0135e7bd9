import { describe, expect, test } from '@jest/globals';
import {
  goNumber,
  labelText,
  metric,
  metricsText,
  sample,
} from '../../../../src/agent/server/metrics/metric-text.ts';

describe('a number of a sample', () => {
  test.each([
    [0, '0'],
    [-1, '-1'],
    [798_720, '798720'],
    [999_999, '999999'],
    [1_000_000, '1e+06'],
    [-1_000_000, '-1e+06'],
    [1_159_168, '1.159168e+06'],
    [270_553_174_016, '2.70553174016e+11'],
    [57_343.82478157, '57343.82478157'],
    [1_234_567.5, '1.2345675e+06'],
    [0.552458737, '0.552458737'],
    [0.0001, '0.0001'],
    [0.00001, '1e-05'],
    [-0.000025, '-2.5e-05'],
    [1.5e300, '1.5e+300'],
    [Infinity, '+Inf'],
    [-Infinity, '-Inf'],
    [NaN, 'NaN'],
  ])('%p is written as Go writes it', (value, text) => {
    expect(goNumber(value)).toBe(text);
  });
});

describe('labels', () => {
  test('are in the order of their names', () => {
    expect(labelText({ pod: 'p', container: 'c', namespace: 'n' })).toBe(
      'container="c",namespace="n",pod="p"',
    );
  });

  test('have quotes, backslashes and line breaks escaped', () => {
    expect(labelText({ a: 'say "no"\\\n' })).toBe(String.raw`a="say \"no\"\\\n"`);
  });
});

describe('a sample', () => {
  test('has the time at which it was read, in whole milliseconds', () => {
    expect(sample('m', 'a="1"', 2, 1_795_362_029_694.7)).toBe('m{a="1"} 2 1795362029694\n');
  });

  test('has neither braces nor a time where there are no labels and no time', () => {
    expect(sample('m', '', 2)).toBe('m 2\n');
  });
});

describe('the text of metrics', () => {
  test('has each metric with its help and type, by name, and none without samples', () => {
    const text = metricsText([
      metric({ name: 'b_total', type: 'counter', help: 'The second.\nIn "two" lines \\.' }, [
        [{}, 1],
        [{ x: 'y' }, 2],
      ]),
      metric({ name: 'c', type: 'gauge', help: 'Empty.' }, []),
      metric({ name: 'a', type: 'gauge', help: 'The first.' }, [[{}, 3]]),
    ]);
    expect(text).toBe(
      [
        '# HELP a The first.',
        '# TYPE a gauge',
        'a 3',
        String.raw`# HELP b_total The second.\nIn "two" lines \\.`,
        '# TYPE b_total counter',
        'b_total 1',
        'b_total{x="y"} 2',
        '',
      ].join('\n'),
    );
  });
});
