import { describe, expect, test } from '@jest/globals';
import { pageCharts } from '../../../scripts/picture/page-charts.ts';
import { arrowsOf } from '../../../src/commands/charts/arrows.ts';
import { machines } from '../../../src/agent/machines/index.ts';
import { entered, lightOf, linesOf } from '../../../src/page/browser/chart-light.ts';
import type { AnyStateNode } from 'xstate';

const charts = await pageCharts(machines);
const chartOf = (name: string) => charts.find((chart) => chart.name === name)!;

function statesOf(state: AnyStateNode): AnyStateNode[] {
  const inside = Object.values(state.states as Record<string, AnyStateNode>);
  return [state, ...inside.flatMap(statesOf)];
}

describe.each(charts.map((chart) => [chart.name, chart] as const))('the chart %s', (name, chart) => {
  const states = statesOf((machines[name] as { root: AnyStateNode }).root);

  test('has each state of the machine, inside of the picture, with its sentence where it is innermost', () => {
    expect(chart.states.map(({ id }) => id)).toEqual(states.map(({ path }) => path.join('.')));
    for (const { x, y, width, height, first, says, id } of chart.states) {
      expect(x >= 0 && y >= 0 && x + width <= chart.width + 1 && y + height <= chart.height + 1).toBe(true);
      if (first.length === 0) expect([id, says]).toEqual([id, expect.any(String)]);
    }
  });

  const arrows = states
    .flatMap((state) => arrowsOf(state))
    .flatMap(({ source, target, label }) =>
      target ? { from: source.path.join('.'), to: target.path.join('.'), label } : [],
    );

  test('knows where each transition of the machine leads', () => {
    const leads = Object.entries(chart.leads).flatMap(([from, all]) => all.map((to) => `${from} ${to}`));
    expect(leads.sort()).toEqual([...new Set(arrows.map(({ from, to }) => `${from} ${to}`))].sort());
  });

  test('draws a line for each way from one state to another', () => {
    for (const { from, to, label } of arrows) {
      if (to === from) continue;
      const event = /^\w+/u.exec(label)?.[0] ?? '';
      const transition = { from, to, event, chart: name, actor: '', atMs: 0, actions: [] };
      expect([from, to, event, linesOf(chart, transition).length > 0]).toEqual([from, to, event, true]);
    }
    for (const { path } of chart.edges) expect(path).toMatch(/^M\d+ \d+(?:L\d+ \d+)+$/);
  });
});

test('lights where a pod is, and where it can come next', () => {
  const { active, next } = lightOf(chartOf('pod'), ['Syncing.Settled']);
  expect([...active].sort()).toEqual(['Syncing', 'Syncing.Settled']);
  expect([...next].sort()).toEqual(['Syncing', 'Syncing.Working', 'Terminating', 'Terminating.Stopping']);
});

test('lights all regions of a machine', () => {
  const { active } = lightOf(chartOf('supervisor'), ['Sources.Ready', 'Runtime.NotReady', 'Loop.Running']);
  expect(active).toContain('Runtime.NotReady');
  expect(active).not.toContain('Runtime.Ready');
});

test.each([
  ['pod', 'Syncing.Working', 'Syncing.BackingOff', 'SYNC_FAILED'],
  ['devicePlugin', 'Connecting', 'Connected', 'xstate.done.actor.connect'],
  ['devicePlugin', 'Connected.Replacing', 'Connected', 'xstate.done.actor.connect'],
  ['devicePlugin', 'Gone', 'Forgotten', 'xstate.after.grace.devicePlugin.Gone'],
])('lights in the chart %s, from %s to %s, the line of %s, not another', (chart, from, to, event) => {
  const innermost = entered(chartOf(chart), to).join();
  const lines = linesOf(chartOf(chart), {
    chart,
    actor: '',
    atMs: 0,
    actions: [],
    from,
    to: innermost,
    event,
  });
  expect(lines).toMatchObject([{ from, to }]);
});
