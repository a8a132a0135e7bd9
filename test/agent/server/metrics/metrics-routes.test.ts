import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from '@jest/globals';
import { AgentMetrics } from '../../../../src/agent/server/metrics/agent-metrics.ts';
import {
  logMetric,
  metricsRoutes,
  volumeMetrics,
} from '../../../../src/agent/server/metrics/metrics-routes.ts';
import { Router } from '../../../../src/agent/server/node/router.ts';
import { serveRoutes } from '../../../../src/agent/server/node/serve-routes.ts';
import { RequestError } from '../../../../src/agent/server/routes/route.ts';
import type { ClaimStats } from '../../../../src/types/stats.ts';
import { runtimePodStatus } from '../../../support/runtime-pod-status.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { NO_WORKERS, samplesNamed, samplesOf } from './samples.ts';

type Api = Parameters<typeof metricsRoutes>[0];

const MACHINE = { machineID: 'm', systemUUID: 's', bootID: 'b', cpus: 4, memoryBytes: 2 ** 34 };

const closing: (() => unknown)[] = [];
let received = 0;
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function serve(api: Partial<Api> = {}): Promise<string> {
  const routes = metricsRoutes({
    nodeName: 'node-1',
    agentCounters: new AgentMetrics(() => 0),
    pods: () => [],
    runtimePods: () => [],
    certificateEnds: () => ({ client: undefined, serving: undefined }),
    ...NO_WORKERS,
    summary: () => Promise.resolve({ node: { nodeName: 'node-1' }, pods: [] }),
    groupFigures: () => Promise.resolve([]),
    machine: () => Promise.resolve(MACHINE),
    claimFigures: () => Promise.resolve([]),
    logFigures: () => Promise.resolve([]),
    metricsProvider: 'cadvisor',
    pluginSockets: () => [],
    claimedVolume: () => undefined,
    ...api,
  });
  const router = new Router(routes);
  const server = createServer();
  serveRoutes(server, {
    find: ({ path }) => router.find(path),
    notFound: new RequestError(404, 'not found'),
  });
  server.on('request', () => (received += 1));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function ask(url: string, headers: Record<string, string> = {}) {
  const [response] = (await once(get(url, { headers, agent: false }), 'response')) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: await buffer(response) };
}

const textOf = async (url: string, headers?: Record<string, string>) =>
  (await ask(url, headers)).body.toString();

describe('the metrics', () => {
  test('are text in the format that Prometheus reads', async () => {
    const { status, headers } = await ask(`${await serve()}/metrics`);
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8; escaping=underscores');
  });

  test('have the node, the process and what was counted', async () => {
    const counted = new AgentMetrics(() => 0);
    counted.evicted('memory.available');
    const text = await textOf(`${await serve({ agentCounters: counted })}/metrics`);
    expect(text).toContain('\nkubelet_node_name{node="node-1"} 1\n');
    expect(text).toContain('\nkubelet_evictions{eviction_signal="memory.available"} 1\n');
    expect(text).toMatch(/\nprocess_resident_memory_bytes \d/);
    expect(text).toMatch(/\nkubernetes_build_info\{.*git_version="v1\.\d+\.\d+".*\} 1\n/);
  });

  test('have no counts where nothing is counted', async () => {
    const url = await serve({ agentCounters: undefined });
    const text = await textOf(`${url}/metrics`);
    expect(text).toContain('kubelet_node_name');
    expect(text).not.toContain('renew_errors');
    expect(await textOf(`${url}/metrics/probes`)).not.toContain('prober');
  });

  test('are compressed for a client that can read that', async () => {
    const url = `${await serve()}/metrics/slis`;
    for (const accepted of ['gzip', 'deflate, gzip;q=0.5', 'GZIP ; q=1.0']) {
      const { headers, body } = await ask(url, { 'accept-encoding': accepted });
      expect(headers['content-encoding']).toBe('gzip');
      expect(gunzipSync(body).toString()).toContain('process_start_time_seconds');
    }
  });

  test('are not compressed for other clients', async () => {
    const url = `${await serve()}/metrics/slis`;
    for (const accepted of ['identity', 'gzip;q=0', 'gzip;q=0.0', 'gzipped'])
      expect((await ask(url, { 'accept-encoding': accepted })).headers).not.toHaveProperty(
        'content-encoding',
      );
  });
});

test('/metrics has the figures of claims', async () => {
  const figures = {
    availableBytes: 1,
    capacityBytes: 2,
    usedBytes: 3,
    inodesFree: 4,
    inodes: 5,
    inodesUsed: 6,
  };
  const pvcRef = { name: 'orders', namespace: 'shop' };
  const claimFigures = () =>
    Promise.resolve([{ ...figures, time: '2030-01-01T00:00:00.000Z', name: 'data', pvcRef }]);
  expect(await textOf(`${await serve({ claimFigures })}/metrics`)).toContain(
    '\nkubelet_volume_stats_used_bytes{namespace="shop",persistentvolumeclaim="orders"} 3\n',
  );
});

test('/metrics/cadvisor has the figures of groups, and of the machine', async () => {
  const figures = { id: '/', name: '', image: '', namespace: '', pod: '', container: '' };
  const groupFigures = () =>
    Promise.resolve([
      { ...figures, timeMs: 5, memory: { workingSet: 3, rss: 2 }, disks: [], interfaces: [] },
    ]);
  const text = await textOf(`${await serve({ groupFigures })}/metrics/cadvisor`);
  expect(text).toContain(
    'container_memory_rss{container="",id="/",image="",name="",namespace="",pod=""} 2 5\n',
  );
  expect(text).toMatch(/\nmachine_memory_bytes\{boot_id=".*"\} \d/);
});

test('clients that send requests at the same time share one reading, and the next client gets another', async () => {
  let readings = 0;
  const held = Promise.withResolvers<undefined>();
  const groupFigures = async () => {
    readings += 1;
    await held.promise;
    return [];
  };
  const url = `${await serve({ groupFigures })}/metrics/cadvisor`;
  const before = received;
  const answers = [ask(url), ask(url)];
  await waitFor(() => received === before + 2, { what: 'both requests' });
  held.resolve(undefined);
  for (const { status } of await Promise.all(answers)) expect(status).toBe(200);
  expect(readings).toBe(1);
  await ask(url);
  expect(readings).toBe(2);
});

test('if a reading fails its clients get an error, and the next client is served again', async () => {
  let fails = true;
  const groupFigures = () => (fails ? Promise.reject(new Error('no figures')) : Promise.resolve([]));
  const url = `${await serve({ groupFigures })}/metrics/cadvisor`;
  expect((await ask(url)).status).toBe(500);
  fails = false;
  expect((await ask(url)).status).toBe(200);
});

test('/metrics/resource has the figures of the Summary with CPU and memory only', async () => {
  const asked: unknown[] = [];
  const time = '2030-01-01T00:00:00.000Z';
  const summary: Api['summary'] = (options) => {
    asked.push(options);
    const node = { nodeName: 'node-1', memory: { time, workingSetBytes: 7 } };
    return Promise.resolve({ node, pods: [] });
  };
  const text = await textOf(`${await serve({ summary })}/metrics/resource`);
  expect(asked).toEqual([{ onlyCPUAndMemory: true }]);
  expect(text).toContain(`node_memory_working_set_bytes 7 ${Date.parse(time)}\n`);
  expect(text).toContain('resource_scrape_error 0\n');
});

test('/metrics/resource says when the figures could not be read', async () => {
  const summary = () => Promise.reject(new Error('no figures'));
  expect(await textOf(`${await serve({ summary })}/metrics/resource`)).toContain('resource_scrape_error 1\n');
});

test('/metrics/probes has the results of probes', async () => {
  const counted = new AgentMetrics(() => 0);
  counted.probe({ namespace: 'n', pod: 'p', podUID: 'u', container: 'c', probe: 'liveness' })('Failure');
  expect(await textOf(`${await serve({ agentCounters: counted })}/metrics/probes`)).toContain(
    'result="failed"} 1\n',
  );
});

const stats = (name: string, claim: string, capacityBytes = 2): ClaimStats => ({
  time: '2030-01-01T00:00:00.000Z',
  availableBytes: 1,
  capacityBytes,
  usedBytes: 3,
  inodesFree: 4,
  inodes: 5,
  inodesUsed: 6,
  name,
  pvcRef: { name: claim, namespace: 'shop' },
});

test('a claim has its six figures', () => {
  const labels = '{namespace="shop",persistentvolumeclaim="orders"}';
  expect(samplesNamed(volumeMetrics([stats('data', 'orders')]), 'kubelet_volume_stats')).toEqual({
    [`kubelet_volume_stats_capacity_bytes${labels}`]: '2',
    [`kubelet_volume_stats_available_bytes${labels}`]: '1',
    [`kubelet_volume_stats_used_bytes${labels}`]: '3',
    [`kubelet_volume_stats_inodes_free${labels}`]: '4',
    [`kubelet_volume_stats_inodes${labels}`]: '5',
    [`kubelet_volume_stats_inodes_used${labels}`]: '6',
  });
});

test('a claim that several pods use is shown once, with the figures that come first', () => {
  const metrics = volumeMetrics([stats('a', 'orders', 7), stats('b', 'orders', 8), stats('c', 'other', 9)]);
  expect(samplesNamed(metrics, 'kubelet_volume_stats_capacity_bytes')).toEqual({
    'kubelet_volume_stats_capacity_bytes{namespace="shop",persistentvolumeclaim="orders"}': '7',
    'kubelet_volume_stats_capacity_bytes{namespace="shop",persistentvolumeclaim="other"}': '9',
  });
});

test('claims are in the order of their names', () => {
  const [first] = volumeMetrics([stats('a', 'two'), stats('b', 'one')]);
  expect(first?.samples.join('')).toMatch(/"one".*\n.*"two"/);
});

test('the logs of a container have their disk usage', () => {
  const pod = { ...runtimePodStatus({}), uid: 'u', namespace: 'shop', name: 'web' };
  const used = new Map([['main', { usedBytes: 4096, inodesUsed: 3 }]]);
  expect(samplesOf([logMetric([{ pod, used }])])).toEqual({
    'kubelet_container_log_filesystem_used_bytes{container="main",namespace="shop",pod="web",uid="u"}':
      '4096',
  });
});
