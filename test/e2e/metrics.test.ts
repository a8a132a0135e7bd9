/** The metrics of a node without a cluster and without a container runtime, as the owner of its root folder reads them. */
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { DaemonBed } from '../support/daemon.ts';
import { keepFilesOnDisk } from '../support/files-in-memory.ts';
import { waitFor } from '../support/wait-for.ts';
import { manifest, shell } from './manifests.ts';

keepFilesOnDisk();

let bed: DaemonBed;
beforeEach(() => {
  bed = new DaemonBed();
});
afterEach(() => bed.cleanUp());

async function scrape(path: string): Promise<string> {
  const asked = request({ socketPath: join(bed.rootDir, 'statelet.sock'), path }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  return text(response);
}

function apply(): void {
  const probed = { readinessProbe: { exec: { command: ['true'] }, periodSeconds: 1 } };
  const containers = [{ ...shell('while :; do :; done'), image: 'busy', ...probed }];
  writeFileSync(join(bed.manifestDir, 'web.json'), manifest('web', { containers }));
}

test('a node with a port of its own counts what it does, and shows what plain processes use', async () => {
  const daemon = await bed.start('--port', 'auto');
  apply();
  const { metadata } = await daemon.running('web');
  const probed = async () => (await scrape('/metrics/probes')).includes('result="successful"');
  await waitFor(probed, { what: 'a probe' });

  const agent = await scrape('/metrics');
  expect(agent).toContain('\nkubelet_runtime_operations_total{operation_type="run_podsandbox"} 1\n');
  for (const line of [
    'kubelet_started_pods_total 1',
    'kubelet_started_containers_total{container_type="container"} 1',
    'kubelet_run_podsandbox_duration_seconds_count{runtime_handler=""} 1',
    'kubelet_containers_per_pod_count_count 1',
    'kubelet_working_pods{config="desired",lifecycle="sync",static="true"} 1',
    'kubelet_mirror_pods 0',
    'kubelet_orphan_pod_cleaned_volumes 0',
    'kubelet_metrics_provider{provider="cri"} 1',
  ])
    expect(agent).toContain(`\n${line}\n`);
  expect(agent).toMatch(/\nkubelet_pleg_last_seen_seconds 1\.\d+e\+09\n/);
  expect(agent).toMatch(/\nkubelet_pleg_pod_relist_duration_seconds_count [1-9]/);
  expect(agent).toMatch(/\nkubelet_container_log_filesystem_used_bytes\{container="main",.*\} [1-9]/);
  expect(agent).toContain('\nkubelet_pod_start_duration_seconds_count 1\n');
  expect(agent).toContain('\nstatelet_pods{state="Syncing.Settled"} 1\n');

  const labels = `image="busy",name="[0-9a-f]+",namespace="${metadata.namespace}",pod="${metadata.name}"`;
  const isBusy = async () =>
    new RegExp(
      `\ncontainer_cpu_usage_seconds_total{container="main",cpu="total",id="/[^"]+",${labels}} (?:0\\.[0-9]*)?[1-9]`,
    ).test(await scrape('/metrics/cadvisor'));
  await waitFor(isBusy, { what: 'CPU time' });
  expect(await scrape('/metrics/resource')).toMatch(
    /\ncontainer_memory_working_set_bytes\{container="main",.*\} [1-9]/,
  );
});

test('a node without such a port counts nothing, and shows what it is', async () => {
  const daemon = await bed.start();
  apply();
  await daemon.running('web');
  const agent = await scrape('/metrics');
  expect(agent).toContain('\nkubelet_running_pods 1\n');
  expect(agent).toContain('\nstatelet_pods{state=');
  expect(agent).not.toContain('kubelet_runtime_operations');
  expect(agent).not.toContain('statelet_pod_transitions_total');
  expect(await scrape('/metrics/probes')).not.toContain('prober');
});

test('when pods were last ended for a shutdown is shown after a restart, also where the kubelet has done it', async () => {
  mkdirSync(bed.rootDir, { recursive: true });
  const config = join(bed.rootDir, 'config.yaml');
  writeFileSync(
    config,
    'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nshutdownGracePeriod: 20s\n',
  );
  writeFileSync(
    join(bed.rootDir, 'graceful_node_shutdown_state'),
    '{"startTime":"2030-01-01T00:00:00.75Z","endTime":"2030-01-01T00:00:09.25Z"}',
  );
  await bed.start('--port', 'auto', '--config', config);
  const agent = await scrape('/metrics');
  expect(agent).toContain('\nkubelet_graceful_shutdown_start_time_seconds 1.893456e+09\n');
  expect(agent).toContain('\nkubelet_graceful_shutdown_end_time_seconds 1.893456009e+09\n');
});
