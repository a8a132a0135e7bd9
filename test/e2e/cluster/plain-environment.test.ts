/** The environment of plain processes on a node of a real cluster. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Container, Pod } from '../../../src/types/kubernetes.ts';
import { describeOnControlPlane } from '../../support/control-plane.ts';
import { type Daemon, DaemonBed, NODE_NAME } from '../../support/daemon.ts';
import { waitFor } from '../../support/wait-for.ts';

describeOnControlPlane('the environment of plain processes', { nodeName: NODE_NAME }, (controlPlane) => {
  let bed: DaemonBed;
  let daemon: Daemon;

  beforeAll(async () => {
    bed = new DaemonBed();
    const own = ['--kubeconfig', controlPlane.nodeKubeconfig, '--node-ip', controlPlane.nodeIp];
    daemon = await bed.start(...own, ...controlPlane.serverFlags);
  });
  afterAll(async () => {
    await controlPlane.kubectl('delete', 'pods', '--all', '--force', '--grace-period=0');
    await bed.cleanUp();
  });

  const podOf = (name: string, fields: Partial<Container> = {}) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: {
      restartPolicy: 'Never',
      containers: [{ name: 'main', image: 'none', command: ['env'], ...fields }],
    },
  });
  const bound = (pod: ReturnType<typeof podOf>) => ({
    ...pod,
    spec: { ...pod.spec, nodeName: NODE_NAME, automountServiceAccountToken: false },
  });

  /** What `env` has written, once the pod has ended. */
  async function environmentOf(name: string): Promise<readonly string[]> {
    const find = async () => {
      const pods = await daemon.pods();
      return pods.find(({ metadata, status }) => metadata.name === name && status?.phase === 'Succeeded');
    };
    const pod: Pod = await waitFor(find, { what: `${name} to end` });
    const lines = bed.containerLog(pod.metadata, 'main').trim().split('\n');
    return lines.map((line) => line.replace(/^\S+ stdout F /u, ''));
  }

  test('a static pod finds the services of the cluster', async () => {
    // Services are listed by then: the pods of the server have waited for them.
    await controlPlane.apply(bound(podOf('first')));
    await environmentOf('first');
    writeFileSync(join(bed.manifestDir, 'own.json'), JSON.stringify(podOf('own')));
    const variables = await environmentOf(`own-${NODE_NAME}`);
    expect(variables).toContain('KUBERNETES_SERVICE_HOST=10.96.0.1');
    expect(variables).toContain('KUBERNETES_PORT_443_TCP=tcp://10.96.0.1:443');
  });

  test('a pod of the API server has variables from ConfigMaps and Secrets, and waits for those that are missing', async () => {
    await controlPlane.kubectl('create', 'configmap', 'settings', '--from-literal=a.b=dotted');
    const valueFrom = { secretKeyRef: { name: 'late', key: 'word' } };
    const envFrom = [{ configMapRef: { name: 'settings' } }];
    await controlPlane.apply(bound(podOf('asks', { envFrom, env: [{ name: 'WORD', valueFrom }] })));
    const message = async () => {
      const pod = await controlPlane.kubectlJson<Pod>('get', 'pod', 'asks');
      return pod.status?.containerStatuses?.[0]?.state?.waiting?.message;
    };
    await waitFor(async () => (await message()) === 'secret "late" not found', { what: 'what it waits for' });
    await controlPlane.kubectl('create', 'secret', 'generic', 'late', '--from-literal=word=given');
    expect(await environmentOf('asks')).toEqual(expect.arrayContaining(['WORD=given', 'a.b=dotted']));
  });
});
