import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { describeOnControlPlane } from '../control-plane.ts';
import { KUBECTL_PATIENCE, waitFor } from '../wait-for.ts';

describeOnControlPlane('a control plane of a test', (controlPlane) => {
  test('knows the administrator and the node', async () => {
    const { nodeKubeconfig, nodeName } = controlPlane;
    expect(await controlPlane.kubectl('auth', 'can-i', '*', '*')).toBe('yes\n');
    const asNode = controlPlane.kubectl('--kubeconfig', nodeKubeconfig, 'get', 'secrets');
    await expect(asNode).rejects.toThrow(`User "system:node:${nodeName}" cannot list`);
  });

  test('takes a pod for a node, without a service account', async () => {
    const { nodeName } = controlPlane;
    const spec = { nodeName, containers: [{ name: 'main', image: 'x' }] };
    await controlPlane.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec });
    expect(await controlPlane.kubectlJson('get', 'pod', 'web')).toMatchObject({ spec: { nodeName } });
  });

  test('keeps its objects and its address while the API server is restarted', async () => {
    await controlPlane.kubectl('create', 'namespace', 'kept');
    await controlPlane.apiServer.stop();
    await expect(controlPlane.kubectl('get', 'namespaces')).rejects.toThrow(/refused/);
    await controlPlane.apiServer.start();
    expect(await controlPlane.kubectl('get', 'namespaces')).toContain('kept');
  });

  test('has credentials for other nodes', async () => {
    const kubeconfig = controlPlane.addNode('node-2');
    const asNode = controlPlane.kubectl('--kubeconfig', kubeconfig, 'get', 'secrets');
    await expect(asNode).rejects.toThrow('User "system:node:node-2" cannot list');
  });

  test('is cleaned up when the test is killed', async () => {
    const module = fileURLToPath(new URL('./control-plane.ts', import.meta.url));
    const script = `
      const { ControlPlane, createPlaces } = await import(${JSON.stringify(module)});
      const controlPlane = new ControlPlane(await createPlaces(), { programs: ${JSON.stringify(controlPlane.programs)} });
      await controlPlane.start();
      console.log(controlPlane.dir, controlPlane.apiServer.pid);
      setInterval(() => undefined, 1000);`;
    const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', script];
    const dying = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const line = await new Promise<string>((resolve) =>
      dying.stdout.once('data', (text: Buffer) => resolve(text.toString().trim())),
    );
    const [dir = '', pid = ''] = line.split(' ');
    expect(existsSync(`/proc/${pid}`)).toBe(true);
    dying.kill('SIGKILL');
    await waitFor(() => !existsSync(dir), { what: 'the janitor to remove the folder' });
    await waitFor(() => !existsSync(`/proc/${pid}`), { what: 'the API server to end' });
  });
});

describeOnControlPlane(
  'a whole control plane of a test',
  { with: ['kube-controller-manager', 'kube-scheduler'] },
  (controlPlane) => {
    test('schedules a pod', async () => {
      const { nodeName } = controlPlane;
      await controlPlane.apply(
        { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName } },
        {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name: 'web' },
          spec: { tolerations: [{ operator: 'Exists' }], containers: [{ name: 'main', image: 'x' }] },
        },
      );
      const status = { allocatable: { pods: '1' }, capacity: { pods: '1' } };
      await controlPlane.patch(`/api/v1/nodes/${nodeName}/status`, { status });
      await controlPlane.kubectl('wait', 'pod/web', '--for=condition=PodScheduled', KUBECTL_PATIENCE);
      expect(await controlPlane.kubectlJson('get', 'pod', 'web')).toMatchObject({
        spec: { nodeName, serviceAccountName: 'default' },
      });
    });
  },
);
