/** Who may ask the server of a node, with the certificates and reviews of a real API server. */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request, type RequestOptions } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Node } from '../../../src/types/kubernetes.ts';
import { type ControlPlane, describeOnControlPlane } from '../../support/control-plane.ts';
import { DaemonBed, NODE_NAME } from '../../support/daemon.ts';
import { waitFor } from '../../support/wait-for.ts';

const PROXY = `/api/v1/nodes/${NODE_NAME}/proxy`;
const CONTROL_PLANE = { nodeName: NODE_NAME, with: ['kube-controller-manager' as const] };

describeOnControlPlane('the server of a node', CONTROL_PLANE, (controlPlane) => {
  let bed: DaemonBed;
  beforeEach(() => {
    bed = new DaemonBed();
  });
  afterEach(async () => {
    await bed.cleanUp();
    await controlPlane.kubectl('delete', 'node', NODE_NAME, '--ignore-not-found');
  });

  const inCluster = () => ['--kubeconfig', controlPlane.nodeKubeconfig, '--node-ip', controlPlane.nodeIp];
  const throughProxy = (path: string) => controlPlane.kubectl('get', '--raw', `${PROXY}${path}`);

  test('is reached by the API server at the port in the Node object', async () => {
    await bed.start(...inCluster(), ...controlPlane.serverFlags, '--port', 'auto');
    const port = await portOf(controlPlane);
    expect([port > 0, port !== 10_250]).toEqual([true, true]);
    expect(await throughProxy('/healthz')).toBe('ok');
    await expect(throughProxy('/nothing')).rejects.toThrow(
      'the server could not find the requested resource',
    );
  });

  test('accepts requests that the rules of the cluster allow, and no others', async () => {
    await bed.start(...inCluster(), ...controlPlane.serverFlags, '--anonymous-auth');
    const ask = asker(controlPlane, 10_250);
    await controlPlane.apply(...scraper());
    const token = await controlPlane.createToken('scraper');
    const robot = { headers: { authorization: `Bearer ${token}` } };
    expect(await ask('/metrics', robot)).toMatchObject({ status: 200 });
    expect(await ask('/pods', robot)).toEqual({
      status: 403,
      body: `Forbidden (user=system:serviceaccount:default:scraper, verb=get, resource=nodes, subresource(s)=[pods proxy])\n`,
    });
    expect(await ask('/metrics', { headers: { authorization: `Bearer ${token}x` } })).toEqual({
      status: 401,
      body: 'Unauthorized',
    });
    expect(await ask('/metrics')).toMatchObject({ status: 403 });
    const { cert, key } = controlPlane.details('node');
    expect(await ask('/pods', { cert, key })).toEqual({
      status: 403,
      body: `Forbidden (user=system:node:${NODE_NAME}, verb=get, resource=nodes, subresource(s)=[pods proxy])\n`,
    });
    const admin = controlPlane.details('admin');
    expect(await ask('/pods', { cert: admin.cert, key: admin.key })).toMatchObject({ status: 200 });
  });

  test('has no certificate until the API server gives it one, and uses it at once', async () => {
    const config = join(bed.dir, 'kubelet.yaml');
    writeFileSync(
      config,
      `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
serverTLSBootstrap: true
address: ${controlPlane.nodeIp}
authentication: {x509: {clientCAFile: ${controlPlane.ca.files.cert}}}
`,
    );
    await bed.start('--config', config, ...inCluster());
    const pending = () => controlPlane.kubectl('get', 'csr', '--output=name');
    const request = await waitFor(async () => (await pending()).trim() || undefined, { what: 'the request' });
    await expect(throughProxy('/healthz')).rejects.toThrow(/tls: handshake failure|remote error/u);
    await controlPlane.kubectl('certificate', 'approve', ...request.split('\n'));
    const answer = await waitFor(() => throughProxy('/healthz').catch(() => undefined), {
      what: 'an answer',
    });
    expect(answer).toBe('ok');
  });
});

async function portOf(controlPlane: ControlPlane): Promise<number> {
  const found = await waitFor(
    async () => {
      const node = await controlPlane.kubectlJson<Node>('get', 'node', NODE_NAME).catch(() => undefined);
      return node?.status?.daemonEndpoints?.kubeletEndpoint?.Port;
    },
    { what: 'the port of the node' },
  );
  return found;
}

function asker(controlPlane: ControlPlane, port: number) {
  const ca = readFileSync(controlPlane.ca.files.cert);
  return async (path: string, more: RequestOptions = {}) => {
    const sent = request({ host: controlPlane.nodeIp, port, path, ca, agent: false, ...more });
    const [response] = (await once(sent.end(), 'response')) as [IncomingMessage];
    return { status: response.statusCode, body: await text(response) };
  };
}

/** A service account that may read metrics and nothing else. */
function scraper(): readonly object[] {
  const name = 'scraper';
  const group = 'rbac.authorization.k8s.io';
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: 'default' } },
    {
      apiVersion: `${group}/v1`,
      kind: 'ClusterRole',
      metadata: { name },
      rules: [{ apiGroups: [''], resources: ['nodes/metrics'], verbs: ['get'] }],
    },
    {
      apiVersion: `${group}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: group, kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace: 'default' }],
    },
  ];
}
