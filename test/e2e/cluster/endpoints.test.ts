/** What the API server passes on to a node (`nodes/NAME/proxy`), asked for through kubectl and the API server. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Profile } from 'pprof-format';
import type { Pod } from '../../../src/types/kubernetes.ts';
import type { Summary } from '../../../src/types/stats.ts';
import { describeOnCluster } from '../../support/cluster-suite.ts';
import { NODE_NAME } from '../../support/daemon.ts';

const PROXY = `/api/v1/nodes/${NODE_NAME}/proxy`;

describeOnCluster('the paths of a node, through the API server', { flags: ['-v', '0'] }, (cluster) => {
  /** `kubectl get --raw`. */
  const read = (path: string) => cluster.controlPlane.kubectl('get', '--raw', `${PROXY}${path}`);
  const readJSON = async <T>(path: string) => JSON.parse(await read(path)) as T;

  async function ask(method: string, path: string, body = '') {
    const { server, ca, cert, key } = cluster.controlPlane.details('admin');
    const sent = request(`${server}${PROXY}${path}`, { method, ca, cert, key, agent: false });
    const [response] = (await once(sent.end(body), 'response')) as [IncomingMessage];
    return { status: response.statusCode, body: await buffer(response) };
  }
  const askText = async (...asked: Parameters<typeof ask>) => {
    const { status, body } = await ask(...asked);
    return { status, body: body.toString() };
  };

  let web: Pod;
  beforeAll(async () => {
    const env = [{ name: 'PASSWORD', value: 'secret' }];
    await cluster.create('web', { containers: [cluster.server({ env })] });
    web = await cluster.podIsReady('web');
  });

  test('/healthz, with all its checks', async () => {
    expect(await read('/healthz')).toBe('ok');
    expect(await read('/healthz?verbose')).toBe(
      '[+]ping ok\n[+]log ok\n[+]syncloop ok\n[+]device-plugin ok\nhealthz check passed\n',
    );
    expect(await read('/healthz/syncloop')).toBe('ok');
  });

  test('/pods has the pod as the API server has it', async () => {
    const { items } = await readJSON<{ items: Pod[] }>('/pods');
    const [pod] = items.filter(({ metadata }) => metadata.name === 'web');
    expect(pod?.metadata.uid).toBe(web.metadata.uid);
    expect(pod?.metadata.annotations?.['kubernetes.io/config.source']).toBe('api');
    expect(pod?.spec.containers[0]?.env).toEqual([{ name: 'PASSWORD', value: 'secret' }]);
    expect(Object.keys(pod?.metadata.annotations ?? {}).join()).not.toContain('statelet.dev');
  });

  test('/runningpods/ has the pods of the runtime', async () => {
    const { items } = await readJSON<{ items: Pod[] }>('/runningpods/');
    const [pod] = items.filter(({ metadata }) => metadata.uid === web.metadata.uid);
    expect(pod?.spec.containers).toEqual([
      { name: 'main', image: web.status?.containerStatuses?.[0]?.imageID, resources: {} },
    ]);
  });

  test('/stats/summary has figures of the node and of the pod', async () => {
    const { node, pods } = await readJSON<Summary>('/stats/summary?only_cpu_and_memory=true');
    expect(node.nodeName).toBe(NODE_NAME);
    expect(node.memory?.workingSetBytes).toBeGreaterThan(0);
    expect(node.fs).toBeUndefined();
    const pod = pods.find(({ podRef }) => podRef.uid === web.metadata.uid);
    expect(pod?.containers?.map(({ name }) => name)).toEqual(['main']);
    expect(pod?.memory?.workingSetBytes).toBeGreaterThan(0);
  });

  test('/configz has the settings of the flags of this daemon', async () => {
    const { kubeletconfig } = await readJSON<{ kubeletconfig: object }>('/configz');
    const { nodeIp, ca } = cluster.controlPlane;
    expect(kubeletconfig).toMatchObject({
      kind: 'KubeletConfiguration',
      address: nodeIp,
      authentication: { x509: { clientCAFile: ca.files.cert } },
      containerRuntimeEndpoint: cluster.bed.containerd.endpoint,
    });
  });

  test('/statusz and /flagz describe this program', async () => {
    expect(await read('/statusz')).toMatch(/^\nstatelet statusz\nWarning: .*\n\nStarted {2}/);
    expect(await read('/flagz')).toContain(`\nhostname-override ${NODE_NAME}\n`);
  });

  describe('a checkpoint', () => {
    test('is for pods and containers that are there', async () => {
      expect(await askText('POST', '/checkpoint/default/nope/main')).toEqual({
        status: 404,
        body: 'pod does not exist',
      });
      expect(await askText('POST', '/checkpoint/default/web/nope')).toEqual({
        status: 404,
        body: 'container nope does not exist',
      });
      expect(await askText('GET', '/checkpoint/default/web/main')).toEqual({
        status: 405,
        body: '405: Method Not Allowed',
      });
    });

    test('is refused by a containerd that cannot write it', async () => {
      const { status, body } = await askText('POST', '/checkpoint/default/web/main');
      expect(status).toBe(500);
      expect(body).toMatch(
        /^checkpointing of default\/web\/main failed \(rpc error: code = \w+ desc = .+\)$/,
      );
    });
  });

  test('/debug/flags/v lets the daemon log more', async () => {
    expect(await askText('PUT', '/debug/flags/v', '4')).toEqual({
      status: 200,
      body: 'successfully set klog.logging.verbosity to 4\n',
    });
    await cluster.create('talked-about', { containers: [cluster.server()] });
    await cluster.daemon.logged('a line of the debug level', ({ level }) => level === 'debug');
    expect(await askText('PUT', '/debug/flags/v', '0')).toMatchObject({ status: 200 });
  });

  test('/debug/pprof/profile is a profile of this process', async () => {
    const { status, body } = await ask('GET', '/debug/pprof/profile?seconds=1');
    expect(status).toBe(200);
    const { stringTable, durationNanos } = Profile.decode(gunzipSync(body));
    expect(stringTable.strings).toContain('nanoseconds');
    expect(Number(durationNanos)).toBeGreaterThanOrEqual(1e9);
  });
});
