import { expect, test } from '@jest/globals';
import { resourceMetrics } from '../../../../src/agent/server/metrics/resource-metrics.ts';
import type { Summary } from '../../../../src/types/stats.ts';
import { samplesOf } from './samples.ts';

const TIME = '2030-01-01T00:00:00.250Z';
const AT = Date.parse(TIME);

test('has the usage of the node, its pods and their containers, with the time of each figure', () => {
  const summary: Summary = {
    node: {
      nodeName: 'n',
      cpu: { time: TIME, usageCoreNanoSeconds: 1_500_000_000 },
      memory: { time: TIME, workingSetBytes: 4096 },
      swap: { time: TIME, swapUsageBytes: 0 },
    },
    pods: [
      {
        podRef: { name: 'web', namespace: 'ns', uid: 'u' },
        cpu: { time: TIME, usageCoreNanoSeconds: 2e9 },
        memory: { time: TIME, workingSetBytes: 20 },
        swap: { time: TIME, swapUsageBytes: 5 },
        containers: [
          {
            name: 'c',
            startTime: TIME,
            cpu: { time: TIME, usageCoreNanoSeconds: 1e9 },
            memory: { time: TIME, workingSetBytes: 10 },
            swap: { time: TIME, swapUsageBytes: 3, swapAvailableBytes: 4 },
          },
        ],
      },
    ],
  };
  const container = '{container="c",namespace="ns",pod="web"}';
  const pod = '{namespace="ns",pod="web"}';
  expect(samplesOf(resourceMetrics(summary))).toEqual({
    node_cpu_usage_seconds_total: `1.5 ${AT}`,
    node_memory_working_set_bytes: `4096 ${AT}`,
    node_swap_usage_bytes: `0 ${AT}`,
    [`pod_cpu_usage_seconds_total${pod}`]: `2 ${AT}`,
    [`pod_memory_working_set_bytes${pod}`]: `20 ${AT}`,
    [`pod_swap_usage_bytes${pod}`]: `5 ${AT}`,
    [`container_cpu_usage_seconds_total${container}`]: `1 ${AT}`,
    [`container_memory_working_set_bytes${container}`]: `10 ${AT}`,
    [`container_swap_usage_bytes${container}`]: `3 ${AT}`,
    [`container_swap_limit_bytes${container}`]: `7 ${AT}`,
    [`container_start_time_seconds${container}`]: '1.89345600025e+09',
    resource_scrape_error: '0',
  });
});

test('leaves out what is not known', () => {
  const summary: Summary = {
    node: { nodeName: 'n', cpu: { time: TIME } },
    pods: [{ podRef: { name: 'web', namespace: 'ns', uid: 'u' }, containers: [{ name: 'c' }] }],
  };
  expect(samplesOf(resourceMetrics(summary))).toEqual({ resource_scrape_error: '0' });
});

test('reports an error when nothing could be read', () => {
  expect(samplesOf(resourceMetrics(undefined))).toEqual({ resource_scrape_error: '1' });
});
