/** An API server with faults: it hangs, answers half, has a wrong certificate or clock, or comes back with an older state. Pods go on. */
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { CoreEvent, Lease, Pod } from '../../../src/types/kubernetes.ts';
import { type DoubleFault, DoubleFaults } from '../../support/api-server/faults/double-faults.ts';
import type { Fault } from '../../support/api-server/faults/fault-rules.ts';
import { describeOnCluster } from '../../support/cluster-suite.ts';
import { containerStatus, NODE_NAME, stateOf } from '../../support/daemon.ts';
import { waitFor } from '../../support/wait-for.ts';

const HOUR_MS = 3_600_000;
const IN_DEFAULT = '/api/v1/namespaces/default';
const LEASE = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${NODE_NAME}`;

const options = { controlPlane: { programs: 'double', with: ['kube-controller-manager'] } } as const;

describeOnCluster('an API server with faults', options, (cluster) => {
  let faults: DoubleFaults;

  beforeAll(async () => {
    faults = await new DoubleFaults(cluster.controlPlane).open();
  });
  afterEach(async () => {
    await faults.liftAll();
    await faults.serveCertificate('apiserver');
    await faults.setAhead(0);
    await cluster.clear();
  });
  afterAll(() => faults.close());

  /** An agent that has seen no outage: after several it waits for longer. */
  async function startAnew(): Promise<void> {
    await cluster.daemon.end();
    await cluster.startDaemon();
    await cluster.nodeIsReady();
  }

  /** As the agent itself shows the pod. */
  const seen = async (name: string) =>
    (await cluster.daemon.pods()).find(({ metadata }) => metadata.name === name);

  const lines = (text: string) => cluster.daemon.log.filter(({ msg }) => msg.includes(text)).length;
  /** The next line of the log with the text. */
  async function says(text: string, does: () => Promise<unknown>): Promise<string> {
    const before = lines(text);
    await does();
    await waitFor(() => lines(text) > before, { what: `the log to say ${text}` });
    return JSON.stringify(cluster.daemon.log.filter(({ msg }) => msg.includes(text)).at(-1));
  }

  async function isSteady(before: Pod): Promise<void> {
    const after = (await cluster.pod(before.metadata.name))!;
    expect(containerStatus(after)).toEqual(containerStatus(before));
  }

  test.each<[string, Fault]>([
    ['429', { kind: 'answer', code: 429 }],
    ['503 and the wish to be left alone', { kind: 'answer', code: 503, headers: { 'retry-after': '1' } }],
    ['half an answer', { kind: 'half', how: 'break' }],
    ['no answer', { kind: 'hang' }],
    ['the page of a proxy', { kind: 'answer', code: 404, body: '<html>No such page</html>' }],
  ])('%s: pods go on, and each change is reported once', async (_, fault) => {
    await startAnew();
    const script = 'trap "exit 0" TERM; while [ ! -e /go ]; do sleep 0.1; done';
    await cluster.create('steady', { containers: [cluster.server()] });
    await cluster.create('ending', { restartPolicy: 'Never', containers: [cluster.shell(script)] });
    const before = await cluster.podIsReady('steady');
    const ending = await cluster.podIsReady('ending');
    const failing: DoubleFault = await faults.add({}, fault);
    await faults.breakConnections();
    await cluster.bed.execLast(ending, ['touch', '/go']);
    // Until it is over, its status may still change: its sandbox ends after its containers.
    const isOver = async () => stateOf((await seen('ending'))!) === 'Terminated.Finished';
    await waitFor(isOver, { what: 'its end' });
    await failing.wasHit();
    const told = async () => (await faults.seen('PATCH', /pods\/ending\/status/u)).length;
    const soFar = await told();
    await failing.lift();
    // What has not been answered is asked again.
    await faults.breakConnections();
    await cluster.podIs('Succeeded', 'ending', (pod) => pod.status?.phase === 'Succeeded');
    // A write that was under way has the status of its time.
    expect((await told()) - soFar).toBeLessThanOrEqual(fault.kind === 'hang' ? 2 : 1);
    await isSteady(before);
  });

  test('a wrong certificate is named, pods go on, and all is well with the right one', async () => {
    const { ca, server } = cluster.controlPlane;
    await startAnew();
    await cluster.create('steady', { containers: [cluster.server()] });
    const before = await cluster.podIsReady('steady');
    ca.issue({
      name: 'other-name',
      commonName: 'kube-apiserver',
      usage: 'server auth',
      alternativeNames: 'DNS:other.test',
    });
    const fails = async () => {
      await faults.serveCertificate('other-name');
      return says('API server: no answer', () => faults.breakConnections());
    };
    const works = () => says('API server: connected', () => faults.serveCertificate('apiserver'));
    let line = await fails();
    // Only the first failure is said: it may be that of a request which was under way.
    while (!line.includes('TLS with')) {
      await works();
      line = await fails();
    }
    expect(line).toContain(`TLS with ${new URL(server).host}: `);
    expect(line).toContain("the server's certificate is for DNS:other.test, and not for 127.0.0.1");
    await works();
    await cluster.create('later', { containers: [cluster.server()] });
    await cluster.podIsReady('later');
    await isSteady(before);
  });

  test.each([
    ['ahead of', HOUR_MS],
    ['behind', -HOUR_MS],
  ])(
    'a clock of the server that is an hour %s this one: pods, tokens, events and the lease are well',
    async (_, aheadMs) => {
      await faults.setAhead(aheadMs);
      const sources = [{ serviceAccountToken: { path: 'token', expirationSeconds: 600 } }];
      const spec = {
        volumes: [{ name: 'tokens', projected: { sources } }],
        containers: [cluster.server({ volumeMounts: [{ name: 'tokens', mountPath: '/tokens' }] })],
      };
      const begun = Date.now();
      await cluster.create('timely', spec);
      const pod = await cluster.podIsReady('timely');
      expect(near(pod.metadata.creationTimestamp, begun + aheadMs)).toBe(true);
      expect(near(pod.status?.startTime, begun)).toBe(true);
      const token = await cluster.bed.exec(pod, ['cat', '/tokens/token']);
      const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
        exp: number;
      };
      expect(Math.abs(claims.exp * 1000 - (begun + aheadMs + 600_000))).toBeLessThan(MINUTES_MS);
      const path = `${IN_DEFAULT}/events?fieldSelector=involvedObject.name=timely`;
      const { items } = (await cluster.controlPlane.read<{ items: CoreEvent[] }>(path))!;
      expect(items.map(({ lastTimestamp }) => near(lastTimestamp, begun))).not.toContain(false);
      const lease = await cluster.controlPlane.read<Lease>(LEASE);
      expect(near(lease?.spec?.renewTime, Date.now())).toBe(true);
      await cluster.nodeIsReady();
      expect(await faults.seen('POST', /\/serviceaccounts\/default\/token$/u)).toHaveLength((tokens += 1));
      // It ends by its grace period, whatever the time at which it should be over is.
      await cluster.controlPlane.kubectl('delete', 'pod', 'timely', '--wait=false');
      await cluster.podIsGone('timely');
    },
  );
  let tokens = 0;

  test('after the server comes back with an older state, pods that it knows go on, the others end, and their statuses are sent again', async () => {
    await startAnew();
    await cluster.create('old', { containers: [cluster.server()] });
    // It does not know yet that the pod is ready.
    const restore = faults.backUp();
    const before = await cluster.podIsReady('old');
    await cluster.create('new', { containers: [cluster.server()] });
    await cluster.podIsReady('new');
    await restore();
    await waitFor(async () => (await seen('new')) === undefined, {
      what: 'the pod that is not known to end',
    });
    await cluster.create('later', { containers: [cluster.server()] });
    await cluster.podIsReady('later');
    await cluster.podIsReady('old');
    await isSteady(before);
    await cluster.nodeIsReady();
  });

  test('a server that comes back without anything gets its node from the next agent, as from the kubelet', async () => {
    await startAnew();
    await cluster.create('old', { containers: [cluster.server()] });
    await cluster.podIsReady('old');
    await faults.empty();
    await cluster.daemon.warning(`The Node object ${NODE_NAME} was deleted. Restart the agent`);
    await waitFor(async () => (await seen('old')) === undefined, {
      what: 'the pod that is not known to end',
    });
    await startAnew();
    await cluster.create('later', { containers: [cluster.server()] });
    await cluster.podIsReady('later');
  });
});

const MINUTES_MS = 5 * 60_000;
const near = (time: unknown, ms: number): boolean => Math.abs(Date.parse(String(time)) - ms) < MINUTES_MS;
