/** Metrics as a cluster reads them: through the API server, from the node's port. */
import { expect, test } from '@jest/globals';
import { NODE_NAME } from '../../support/daemon.ts';
import { describeOnCluster } from '../../support/cluster-suite.ts';
import { waitFor } from '../../support/wait-for.ts';

describeOnCluster('the metrics of a node in a cluster', (cluster) => {
  const scrape = (path: string) => cluster.controlPlane.readText(`/api/v1/nodes/${NODE_NAME}/proxy${path}`);

  /** The value of the series of that name that has all these labels. */
  function valueOf(text: string, name: string, labels: Readonly<Record<string, string>> = {}): number {
    const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    const lines = text
      .split('\n')
      .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
    const found = lines.filter((line) => wanted.every((pair) => line.includes(pair)));
    expect([name, labels, found.length]).toEqual([name, labels, 1]);
    const [line = ''] = found;
    const values = line.includes('}') ? line.slice(line.lastIndexOf('}') + 2) : line.slice(name.length + 1);
    return Number(values.split(' ')[0]);
  }

  test('show a pod, its containers, its probes and what the agent did for it', async () => {
    await cluster.create('measured', {
      containers: [
        cluster.server({
          resources: { limits: { cpu: '500m', memory: '64Mi' } },
          readinessProbe: { exec: { command: ['true'] }, periodSeconds: 1 },
          volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }],
        }),
      ],
      volumes: [{ name: 'scratch', emptyDir: {} }],
    });
    const { metadata } = await cluster.podIsReady('measured');
    const pod = { namespace: metadata.namespace, pod: 'measured' };

    const agent = await scrape('/metrics');
    expect(valueOf(agent, 'kubelet_node_name', { node: NODE_NAME })).toBe(1);
    expect(valueOf(agent, 'kubelet_running_pods')).toBe(1);
    expect(valueOf(agent, 'kubelet_running_containers', { container_state: 'running' })).toBe(1);
    expect(valueOf(agent, 'kubelet_pod_start_duration_seconds_count')).toBe(1);
    for (const operation of ['run_podsandbox', 'create_container', 'start_container'])
      expect(valueOf(agent, 'kubelet_runtime_operations_total', { operation_type: operation })).toBe(1);
    expect(
      valueOf(agent, 'kubelet_cgroup_manager_duration_seconds_count', { operation_type: 'create' }),
    ).toBe(1);
    const mounted = { operation_name: 'volume_mount', status: 'success' };
    expect(
      valueOf(agent, 'storage_operation_duration_seconds_count', {
        ...mounted,
        volume_plugin: 'kubernetes.io/empty-dir',
      }),
    ).toBe(1);
    expect(valueOf(agent, 'rest_client_requests_total', { method: 'POST', code: '201' })).toBeGreaterThan(0);
    expect(valueOf(agent, 'statelet_pods', { state: 'Syncing.Settled' })).toBe(1);

    // The kernel may add up the memory of small processes only every two seconds.
    const whole = { ...pod, container: '', image: '' };
    const withMemory = async () => {
      const text = await scrape('/metrics/cadvisor');
      return valueOf(text, 'container_memory_rss', whole) > 0 && text;
    };
    const groups = await waitFor(withMemory, { what: 'the memory of the pod to be counted', pauseMs: 250 });
    const container = { ...pod, container: 'main', image: cluster.bed.containerd.image };
    expect(valueOf(groups, 'container_memory_working_set_bytes', container)).toBeGreaterThan(0);
    expect(valueOf(groups, 'container_cpu_cfs_periods_total', container)).toBeGreaterThan(0);
    expect(valueOf(groups, 'container_spec_memory_limit_bytes', container)).toBe(64 * 2 ** 20);
    const sandbox = { ...pod, container: '', image: 'pause', interface: 'eth0' };
    expect(valueOf(groups, 'container_network_receive_bytes_total', sandbox)).toBeGreaterThan(0);

    const resources = await scrape('/metrics/resource');
    expect(valueOf(resources, 'resource_scrape_error')).toBe(0);
    expect(valueOf(resources, 'pod_memory_working_set_bytes', pod)).toBeGreaterThan(0);
    expect(valueOf(resources, 'container_cpu_usage_seconds_total', pod)).toBeGreaterThan(0);

    const probes = await scrape('/metrics/probes');
    const readiness = { ...pod, probe_type: 'Readiness', pod_uid: metadata.uid };
    expect(valueOf(probes, 'prober_probe_total', { ...readiness, result: 'successful' })).toBeGreaterThan(0);
  });

  test('of a pod end with the pod', async () => {
    const probed = { exec: { command: ['true'] }, periodSeconds: 1 };
    await cluster.create('short', { containers: [cluster.server({ readinessProbe: probed })] });
    await cluster.podIsReady('short');
    expect(await scrape('/metrics/probes')).toContain('pod="short"');
    await cluster.controlPlane.kubectl('delete', 'pod', 'short', '--wait=false');
    await cluster.podIsGone('short');
    const isGone = async () => {
      const texts = await Promise.all(['/metrics/probes', '/metrics/cadvisor'].map(scrape));
      return texts.every((text) => !text.includes('pod="short"'));
    };
    await waitFor(isGone, { what: 'the metrics of the pod to be gone', pauseMs: 250 });
    const agent = await scrape('/metrics');
    expect(
      valueOf(agent, 'kubelet_cgroup_manager_duration_seconds_count', { operation_type: 'destroy' }),
    ).toBe(1);
    expect(
      valueOf(agent, 'kubelet_pod_worker_duration_seconds_count', { operation_type: 'terminated' }),
    ).toBe(1);
  });
});
