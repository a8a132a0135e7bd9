import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { AgentMetrics } from '../../../src/server/metrics/agent-metrics.ts';
import { cadvisorMetrics } from '../../../src/server/metrics/cadvisor-metrics.ts';
import { nodeMetrics } from '../../../src/server/metrics/node-metrics.ts';
import { processMetrics } from '../../../src/server/metrics/process-metrics.ts';
import { resourceMetrics } from '../../../src/server/metrics/resource-metrics.ts';
import { volumeMetrics } from '../../../src/server/metrics/volume-metrics.ts';
import type { Metric } from '../../../src/server/metrics/metric-text.ts';

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const PAGE = read('docs/metrics.md');
const DASHBOARD = read('examples/grafana/statelet.json');

const counted = new AgentMetrics(() => 0);
const AGENT = [
  ...counted.metrics(),
  ...counted.probeMetrics(),
  ...processMetrics(),
  ...volumeMetrics([]),
  ...nodeMetrics(
    {
      nodeName: 'n',
      counted,
      pods: () => [],
      runtimePods: () => [],
      certificateEnds: () => ({ client: undefined, serving: undefined }),
    },
    0,
  ),
];
const CADVISOR = cadvisorMetrics([], { machineID: '', systemUUID: '', bootID: '' });
const namesOf = (metrics: readonly Metric[]) => metrics.map(({ head }) => head.name);
const ALL = new Set(namesOf([...AGENT, ...CADVISOR, ...resourceMetrics(undefined)]));

/** The metrics in the first columns of tables, with their types. */
const documented = Array.from(PAGE.matchAll(/^\| (`[a-z].*?) +\| (counter|gauge|histogram) /gm)).flatMap(
  ([, cell = '', type]) => Array.from(cell.matchAll(/`(\w+)`/g), ([, name = '']) => ({ name, type })),
);

describe('docs/metrics.md', () => {
  test('names every metric, and no other', () => {
    expect([...new Set(documented.map(({ name }) => name))].sort()).toEqual([...ALL].sort());
  });

  test('names their types', () => {
    const heads = [...AGENT, ...CADVISOR, ...resourceMetrics(undefined)].map(({ head }) => head);
    for (const { name, type } of documented)
      expect({ name, type }).toEqual({ name, type: heads.find((head) => head.name === name)?.type });
  });
});

describe('the dashboard', () => {
  test('asks only for metrics that there are', () => {
    const asked = Array.from(
      DASHBOARD.matchAll(/\b((?:statelet|kubelet|process|prober|rest_client)_\w+)/g),
      ([, name = '']) => name.replace(/_(?:bucket|sum|count)$/, ''),
    );
    expect(asked.length).toBeGreaterThan(10);
    for (const name of asked) expect(ALL).toContain(name);
  });

  test('has an expression in each of its panels, but for rows', () => {
    const { panels } = JSON.parse(DASHBOARD) as {
      panels: { type: string; title: string; targets?: { expr: string }[] }[];
    };
    for (const { type, title, targets = [] } of panels)
      if (type !== 'row') expect([title, targets.length > 0]).toEqual([title, true]);
  });
});
