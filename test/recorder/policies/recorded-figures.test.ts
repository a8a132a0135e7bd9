import { expect, test } from '@jest/globals';
import { recordedFigures } from '../../../src/recorder/policies/recorded-figures.ts';
import { RecordWriter } from '../../../src/recorder/policies/record-format.ts';
import { RecordReader } from '../../../src/recorder/policies/record-reader.ts';
import { evaluateEviction } from '../../../src/agent/policies/eviction/pass.ts';
import { factsWith, settingsWith, summaryOf, thresholds } from '../../support/eviction.ts';

const FIGURE = { signal: 'memory.available', left: 5, whole: 10, hard: 1 };
const transition = (data: unknown, event = 'EVALUATED') => {
  const kind = { chart: 'eviction', event, from: 'A', to: 'A', actions: [], actor: 'eviction', atMs: 1 };
  return data === undefined ? kind : { ...kind, data: data as Readonly<Record<string, unknown>> };
};

test('the measurements of a pass are written and read again, without its other data', () => {
  const settings = settingsWith({
    thresholds: thresholds({ evictionHard: { 'memory.available': '100Mi' } }),
  });
  const evaluation = evaluateEviction(factsWith({ settings, summary: summaryOf({ memory: 512 }) }));
  const writer = new RecordWriter({ program: '1.2.3', pid: 77, node: 'node-a' });
  const { actor, atMs, ...kind } = transition(undefined);
  const snapshot = { value: 'A', context: { state: evaluation.state } } as never;
  writer.begin(0);
  writer.add(kind, actor, atMs, {
    event: { type: 'EVALUATED', evaluation } as never,
    before: snapshot,
    after: snapshot,
  });
  const { lines } = writer.take();
  expect(lines).not.toMatch(/observations|told/u);
  const reader = new RecordReader();
  const read = lines.split('\n').flatMap((line) => {
    const entry = reader.read(line);
    return entry?.type === 'transition' ? [entry.transition] : [];
  });
  expect(read.flatMap(recordedFigures)).toEqual(evaluation.figures);
  expect(evaluation.figures).toHaveLength(1);
});

test.each<[string, unknown]>([
  ['a former version, without data', undefined],
  ['a former version, without figures', { evaluation: { conditions: [] } }],
  ['another version, with others', { evaluation: { figures: { memory: 1 } } }],
  ['a torn line', { evaluation: 7 }],
])('the record of %s has none', (_, data) => {
  expect(recordedFigures(transition(data))).toEqual([]);
});

test('what is no figure is left out', () => {
  const bad = [{ ...FIGURE, left: 'x' }, { ...FIGURE, hard: null }, { left: 1, whole: 2 }, null, 'x'];
  expect(recordedFigures(transition({ evaluation: { figures: [...bad, FIGURE] } }))).toEqual([FIGURE]);
});

test('another event has none', () => {
  expect(recordedFigures(transition({ evaluation: { figures: [FIGURE] } }, 'RANKED'))).toEqual([]);
});
