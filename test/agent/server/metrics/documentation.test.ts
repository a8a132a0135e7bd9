/** docs/metrics.md and the dashboard beside the metrics that the code has. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { AgentMetrics } from '../../../../src/agent/server/metrics/agent-metrics.ts';
import { cadvisorMetrics } from '../../../../src/agent/server/metrics/cadvisor-metrics.ts';
import { nodeMetrics } from '../../../../src/agent/server/metrics/node-metrics.ts';
import { processMetrics } from '../../../../src/agent/server/metrics/process-metrics.ts';
import { resourceMetrics } from '../../../../src/agent/server/metrics/resource-metrics.ts';
import { logMetric, volumeMetrics } from '../../../../src/agent/server/metrics/metrics-routes.ts';
import type { Metric } from '../../../../src/agent/server/metrics/metric-text.ts';
import { KUBELET_METRICS } from './kubelet-metrics.ts';
import { NO_WORKERS } from './samples.ts';

const read = (path: string) => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8');
const PAGE = read('docs/metrics.md');
const DASHBOARD = read('examples/grafana/statelet.json');

const counted = new AgentMetrics(() => 0);
const AGENT = [
  ...counted.metrics(),
  ...counted.probeMetrics(),
  ...processMetrics(),
  ...volumeMetrics([]),
  logMetric([]),
  ...nodeMetrics(
    {
      nodeName: 'n',
      agentCounters: counted,
      pods: () => [],
      runtimePods: () => [],
      certificateEnds: () => ({ client: undefined, serving: undefined }),
      metricsProvider: 'cadvisor',
      pluginSockets: () => [],
      claimedVolume: () => undefined,
      ...NO_WORKERS,
    },
    0,
  ),
];
const CADVISOR = cadvisorMetrics([], {
  machineID: '',
  systemUUID: '',
  bootID: '',
  cpus: 1,
  memoryBytes: 1,
});
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

  test('explains for each metric of the kubelet what it is here, or why it is missing', () => {
    const reasons = /- \*\*Not served[^]*?(?=\n- \*\*)/.exec(PAGE)?.[0] ?? '';
    const patterns = Array.from(reasons.matchAll(/`(\w[\w*]+)`/g), ([, name = '']) => name);
    const covers = (pattern: string) => new RegExp(`^${pattern.replaceAll('*', '\\w+')}$`);
    const isExplained = (name: string) => patterns.some((pattern) => covers(pattern).test(name));
    expect(KUBELET_METRICS.filter((name) => !ALL.has(name) && !isExplained(name))).toEqual([]);
    // What is served needs no reason, and a reason is of something that the kubelet has.
    expect([...ALL].filter(isExplained)).toEqual([]);
    expect(patterns.filter((pattern) => !KUBELET_METRICS.some((name) => covers(pattern).test(name)))).toEqual(
      [],
    );
  });

  test('names their types', () => {
    const heads = [...AGENT, ...CADVISOR, ...resourceMetrics(undefined)].map(({ head }) => head);
    for (const { name, type } of documented)
      expect({ name, type }).toEqual({ name, type: heads.find((head) => head.name === name)?.type });
  });
});

/** The labels of each of the documented metrics. */
const LABELS = new Map(
  Array.from(
    PAGE.matchAll(/^\| `([a-z]\w+)` +\| (?:counter|gauge|histogram) +\| ([^|]*)\|/gm),
    ([, name = '', cell = '']) => [name, Array.from(cell.matchAll(/`(\w+)`/g), ([, label = '']) => label)],
  ),
);
/** What Prometheus adds to each series. */
const ADDED = ['job', 'instance'];

interface Target {
  readonly expr: string;
  readonly legendFormat?: string;
}

const { panels: PANELS } = JSON.parse(DASHBOARD) as {
  panels: { type: string; title: string; targets?: Target[] }[];
};

const listed = (text = '') => text.split(',').map((label) => label.trim());

/** What an expression asks for: its metrics, the labels by which it selects their series, and those by which it puts them together. */
function asked(expr: string) {
  const BY = /\bby \(([^)]*)\)/g;
  const grouped = Array.from(expr.matchAll(BY), ([, labels]) => listed(labels)).flat();
  const selectors = Array.from(expr.matchAll(/\{([^}]*)\}/g), ([, selector = '']) => selector);
  const selected = selectors.flatMap((selector) =>
    Array.from(selector.matchAll(/(\w+)\s*[=!]/g), ([, label = '']) => label),
  );
  const rest = expr.replaceAll(BY, '').replaceAll(/\{[^}]*\}|\[[^\]]*\]/g, '');
  const names = Array.from(rest.matchAll(/\b[a-z]\w*_\w+\b(?!\s*\()/g), ([name]) => name);
  return { names, grouped, selected };
}

describe('the dashboard', () => {
  test('uses only labels that its metrics have, and shows only those that are left', () => {
    let count = 0;
    for (const { expr, legendFormat = '' } of PANELS.flatMap(({ targets = [] }) => targets)) {
      const { names, grouped, selected } = asked(expr);
      const shown = Array.from(legendFormat.matchAll(/\{\{(\w+)\}\}/g), ([, label = '']) => label);
      expect([expr, names.length]).toEqual([expr, 1]);
      for (const series of names) {
        const name = series.replace(/_(?:bucket|sum|count)$/, '');
        const labels = [...(LABELS.get(name) ?? []), ...ADDED, ...(series.endsWith('_bucket') ? ['le'] : [])];
        for (const label of [...selected, ...grouped, ...shown])
          expect({ [name]: labels }).toEqual({ [name]: expect.arrayContaining([label]) });
        // What series are put together by is what is left of their labels.
        if (grouped.length > 0) expect(grouped).toEqual(expect.arrayContaining(shown));
        count += selected.length + grouped.length + shown.length;
      }
    }
    expect(count).toBeGreaterThan(40);
  });

  test('uses only metrics that exist', () => {
    const asked = Array.from(
      DASHBOARD.matchAll(/\b((?:statelet|kubelet|process|prober|rest_client)_\w+)/g),
      ([, name = '']) => name.replace(/_(?:bucket|sum|count)$/, ''),
    );
    expect(asked.length).toBeGreaterThan(10);
    for (const name of asked) expect(ALL).toContain(name);
  });

  test('has an expression in each of its panels, but for rows', () => {
    for (const { type, title, targets = [] } of PANELS)
      if (type !== 'row') expect([title, targets.length > 0]).toEqual([title, true]);
  });
});
