import { describe, expect, test } from '@jest/globals';
import { Counter, Histogram } from '../../../../src/agent/server/metrics/counters.ts';
import { RUNTIME_BOUNDS } from '../../../../src/agent/server/metrics/agent-metrics.ts';

describe('a counter', () => {
  test('counts for each set of labels, whatever their order', () => {
    const counter = new Counter({ name: 'c_total', help: 'Counts.' });
    counter.add({ a: '1', b: '2' });
    counter.add({ b: '2', a: '1' }, 2);
    counter.add({ a: '0' });
    expect(counter.metric()).toEqual({
      head: { name: 'c_total', type: 'counter', help: 'Counts.' },
      samples: ['c_total{a="0"} 1\n', 'c_total{a="1",b="2"} 3\n'],
    });
  });

  test('forgets labels that are removed', () => {
    const counter = new Counter({ name: 'c_total', help: 'Counts.' });
    counter.add({ a: '1' });
    counter.remove({ a: '1' });
    expect(counter.metric().samples).toEqual([]);
  });
});

describe('a histogram', () => {
  test('counts a value in the first bucket whose bound it does not exceed, and in all above', () => {
    const histogram = new Histogram({ name: 'h', help: 'How long.' }, [0.5, 1]);
    for (const value of [0.1, 0.5, 0.75, 2]) histogram.observe({ a: 'x' }, value);
    expect(histogram.metric().samples.join('')).toBe(
      [
        'h_bucket{a="x",le="0.5"} 2',
        'h_bucket{a="x",le="1"} 3',
        'h_bucket{a="x",le="+Inf"} 4',
        'h_sum{a="x"} 3.35',
        'h_count{a="x"} 4',
        '',
      ].join('\n'),
    );
  });

  test('has no braces without labels but for the bounds', () => {
    const histogram = new Histogram({ name: 'h', help: 'How long.' }, [1]);
    histogram.observe({}, 1);
    expect(histogram.metric().samples.join('')).toBe(
      'h_bucket{le="1"} 1\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n',
    );
  });

  test('has the bounds of the kubelet for operations of the runtime', () => {
    const histogram = new Histogram({ name: 'h', help: 'How long.' }, RUNTIME_BOUNDS);
    histogram.observe({}, 0);
    const bounds = Array.from(
      histogram
        .metric()
        .samples.join('')
        .matchAll(/le="(.+?)"/g),
      ([, le]) => le,
    );
    expect(bounds.join(' ')).toBe(
      '0.005 0.0125 0.03125 0.078125 0.1953125 0.48828125 1.220703125 3.0517578125 7.62939453125 ' +
        '19.073486328125 47.6837158203125 119.20928955078125 298.0232238769531 745.0580596923828 +Inf',
    );
  });
});
