/** What people do with kubectl at a node of ours, beside logs, exec, cp, port-forward and drain, which have suites of their own. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { describeOnCluster } from '../../support/cluster-suite.ts';
import { NODE_NAME } from '../../support/daemon.ts';
import { kubectlProgram } from '../../support/kubernetes-programs.ts';
import { KUBECTL_PATIENCE, waitFor } from '../../support/wait-for.ts';

const WITH_SCHEDULER = { controlPlane: { with: ['kube-controller-manager', 'kube-scheduler'] as const } };

describeOnCluster('kubectl at a node', WITH_SCHEDULER, (cluster) => {
  const kubectl = (...args: readonly string[]) => cluster.controlPlane.kubectl(...args);
  const manifest = (labels: object = {}) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'applied', labels },
    spec: { terminationGracePeriodSeconds: 1, containers: [cluster.server()] },
  });
  async function apply(object: object): Promise<string> {
    const { adminKubeconfig: KUBECONFIG, dir: HOME } = cluster.controlPlane;
    const env = { PATH: process.env.PATH, KUBECONFIG, HOME };
    const running = promisify(execFile)(kubectlProgram(), ['apply', '--filename=-'], { env });
    running.child.stdin?.end(JSON.stringify(object));
    return (await running).stdout;
  }

  test('apply creates a pod that is scheduled, then changes it, then finds nothing to change', async () => {
    expect(await apply(manifest())).toBe('pod/applied created\n');
    expect(await apply(manifest({ color: 'blue' }))).toBe('pod/applied configured\n');
    expect(await apply(manifest({ color: 'blue' }))).toBe('pod/applied unchanged\n');
    await kubectl('wait', 'pod/applied', '--for=condition=Ready', KUBECTL_PATIENCE);
  });

  test('get shows pods and nodes as rows', async () => {
    const pods = await kubectl('get', 'pods', '--output=wide');
    expect(pods).toMatch(/^NAME +READY +STATUS +RESTARTS +AGE +IP +NODE/u);
    expect(pods).toMatch(new RegExp(`applied +1/1 +Running +0 .* ${NODE_NAME} `, 'u'));
    expect(await kubectl('get', 'nodes')).toMatch(new RegExp(`${NODE_NAME} +Ready +<none> `, 'u'));
    expect(await kubectl('get', 'pods', '--selector=color=blue', '--output=name')).toBe('pod/applied\n');
    expect(await kubectl('get', 'pods', '--selector=color!=blue', '--output=name')).toBe('');
  });

  test('describe shows the pod with its events, and the node with its pods', async () => {
    const pod = await kubectl('describe', 'pod', 'applied');
    expect(pod).toMatch(/Events:[^]*Started [^]*Container started/u);
    expect(await kubectl('describe', 'node', NODE_NAME)).toMatch(/Non-terminated Pods:[^]*applied/u);
  });

  test('delete waits until the pod is gone', async () => {
    await kubectl('delete', 'pod', 'applied', KUBECTL_PATIENCE);
    expect(await kubectl('get', 'pods', '--output=name')).toBe('');
  });

  test('top shows what the node and a pod use', async () => {
    // A real cluster has metrics-server for that.
    if (cluster.controlPlane.programs === 'real') return;
    await cluster.create('busy', { containers: [cluster.server()] });
    await cluster.podIsReady('busy');
    const ofPod = await waitFor(() => kubectl('top', 'pod', 'busy').catch(() => undefined), {
      what: 'figures of the pod',
      pauseMs: 500,
    });
    expect(ofPod).toMatch(/busy +\d+m +\d+Mi/u);
    expect(await kubectl('top', 'node')).toMatch(new RegExp(`${NODE_NAME} +\\d+m +\\d+% +\\d+Mi`, 'u'));
  });
});
