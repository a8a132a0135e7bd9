import { readFile } from 'node:fs/promises';
import { describe, expect, test } from '@jest/globals';
import { setup } from 'xstate';
import { missingCharts, podPicture, withCharts } from '../../scripts/update-charts.ts';
import { machines } from '../../src/agent/machines/index.ts';

describe('docs/charts.md', () => {
  test('shows every machine as it is; if not: npm run update:charts', async () => {
    const markdown = await readFile(new URL('../../docs/charts.md', import.meta.url), 'utf8');
    expect(missingCharts(markdown, machines)).toEqual([]);
    expect(markdown).toBe(withCharts(markdown, machines));
  });
});

test('docs/pod.svg shows the machine of a pod as it is; if not: npm run update:charts', async () => {
  const svg = await readFile(new URL('../../docs/pod.svg', import.meta.url), 'utf8');
  expect(svg).toBe(await podPicture());
});

describe('charts in a text', () => {
  const lamp = setup({}).createMachine({
    id: 'lamp',
    initial: 'Off',
    states: { Off: { on: { PRESS: 'On' } }, On: {} },
  });
  const text = 'a\n<!-- chart:lamp -->\nstale\n<!-- /chart:lamp -->\nb\n';

  test('are drawn anew, and stay as they are when drawn again', () => {
    const drawn = withCharts(text, { lamp });
    expect(drawn).toMatch(
      /^a\n<!-- chart:lamp -->\n\n```mermaid\nstateDiagram-v2\n[^]*PRESS\n```\n\n<!-- \/chart:lamp -->\nb\n$/,
    );
    expect(withCharts(drawn, { lamp })).toBe(drawn);
  });

  test('must be of machines that exist', () => {
    expect(() => withCharts(text, {})).toThrow('"lamp"');
  });

  test('are missed when a machine has no place', () => {
    expect(missingCharts(text, { lamp, other: lamp })).toEqual(['other']);
  });
});
