/** Logs of a node of a real API server, as `kubectl logs` shows them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from '@jest/globals';
import { type ClusterBed, describeOnCluster } from '../../support/cluster-suite.ts';
import { SERVING } from '../../support/cri-daemon.ts';
import { openBelow } from '../../support/held-open.ts';
import { waitFor } from '../../support/wait-for.ts';
import { kubectlProgram } from '../../support/kubernetes-programs.ts';

const STAY = 'trap "exit 0" TERM; sleep 100000 & wait';
const LINES = 6000;
/** Counts as soon as there is the file `/go`. */
const COUNTING =
  'echo ready; while [ ! -e /go ]; do sleep 0.1; done; i=0; ' +
  `while [ $i -lt ${LINES} ]; do i=$((i+1)); echo line $i; [ $((i%200)) = 0 ] && sleep 0.4; done; true`;

/** Rotates often. */
const config = { containerLogMaxSize: '40Ki', containerLogMaxFiles: 5, containerLogMonitorInterval: '3s' };

describeOnCluster('the logs of a pod', { config }, (cluster) => {
  afterEach(() => cluster.clear());
  const logs = (...args: readonly string[]) => cluster.controlPlane.kubectl('logs', ...args);

  test('are shown with the flags of kubectl', async () => {
    const say = `echo one; echo two; echo three >&2; ${STAY}`;
    await cluster.create('web', {
      initContainers: [cluster.shell('echo ready', { name: 'setup' })],
      containers: [cluster.shell(say), cluster.shell(`echo alone; ${STAY}`, { name: 'side' })],
    });
    await cluster.podIsReady('web');
    const isWhole = async () => (await logs('web', '-c', 'main')).split('\n').length === 4;
    await waitFor(isWhole, { what: 'all lines' });
    const main = await logs('web', '-c', 'main');
    expect(main.trim().split('\n').toSorted()).toEqual(['one', 'three', 'two']);
    expect(await logs('web', '-c', 'main', '--tail=2')).toBe(main.split('\n').slice(1).join('\n'));
    expect(await logs('web', '-c', 'main', '--limit-bytes=5')).toBe(main.slice(0, 5));
    expect(await logs('web', '-c', 'main', '--since=1h')).toBe(main);
    expect(await logs('web', '-c', 'main', '--since-time=2099-01-01T00:00:00Z')).toBe('');
    expect(await logs('web', '-c', 'setup', '--timestamps')).toMatch(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}(?:Z|[+-]\d\d:\d\d) ready\n$/,
    );
    const all = await logs('web', '--all-containers', '--prefix', '--tail=1');
    // kubectl asks for one container after the other, in an order by chance.
    expect(all.trim().split('\n').toSorted()).toEqual([
      expect.stringMatching(/^\[pod\/web\/main\] (?:one|two|three)$/),
      '[pod/web/setup] ready',
      '[pod/web/side] alone',
    ]);
  });

  test('are those of the instance before with --previous, and there are none before the first', async () => {
    // Only the first instance ends: of those that come after it, the files would go.
    const script = `echo run; mkdir /once/ended 2>/dev/null && exit 1; ${SERVING}`;
    const volumeMounts = [{ name: 'once', mountPath: '/once' }];
    await cluster.create('again', {
      volumes: [{ name: 'once', emptyDir: {} }],
      containers: [cluster.shell(script, { volumeMounts })],
    });
    await cluster.podIs(
      'restarted',
      'again',
      ({ status }) => status?.containerStatuses?.[0]?.lastState?.terminated !== undefined,
    );
    expect(await logs('again', '--previous')).toBe('run\n');
    await cluster.create('first', { containers: [cluster.server()] });
    await cluster.podIsReady('first');
    await expect(logs('first', '--previous')).rejects.toThrow(
      'previous terminated container "main" in pod "first" not found',
    );
  });

  test('are not there while the container waits', async () => {
    await cluster.create('waiting', { containers: [cluster.server({ image: 'localhost:1/none:1' })] });
    const why =
      /container "main" in pod "waiting" is waiting to start: (?:image can't be|trying and failing to)/;
    const isExplained = async () => why.test(await logs('waiting').catch(String));
    await waitFor(isExplained, { what: 'the image to be missing', pauseMs: 200 });
  });

  test('are followed over rotations without a gap, to the end of the container', async () => {
    await cluster.create('counter', { restartPolicy: 'Never', containers: [cluster.shell(COUNTING)] });
    const pod = await cluster.podIs('running', 'counter', ({ status }) => status?.phase === 'Running');
    const client = follow(cluster, 'counter');
    const output = text(client.stdout);
    await once(client.stdout, 'readable');
    await cluster.bed.exec(pod, ['touch', '/go']);
    const counted = Array.from({ length: LINES }, (_, index) => `line ${index + 1}`);
    expect((await output).trim().split('\n')).toEqual(['ready', ...counted]);
    expect(readdirSync(join(cluster.bed.podLogs(pod.metadata), 'main')).length).toBeGreaterThan(1);
  });

  test('are closed when the client that follows them is gone', async () => {
    await cluster.create('ticking', { containers: [cluster.shell('while :; do echo tick; sleep 1; done')] });
    await cluster.podIsReady('ticking');
    const clients = [1, 2, 3].map(() => follow(cluster, 'ticking'));
    await Promise.all(clients.map(({ stdout }) => once(stdout, 'data')));
    await waitFor(() => openLogs(cluster) === 3, { what: 'the logs to be open for three clients' });
    for (const client of clients) client.kill('SIGKILL');
    await waitFor(() => openLogs(cluster) === 0, { what: 'the logs to be closed' });
  });
});

function follow({ controlPlane }: ClusterBed, pod: string): ChildProcess & { stdout: NodeJS.ReadableStream } {
  const kubectl = kubectlProgram();
  const args = ['--kubeconfig', controlPlane.adminKubeconfig, 'logs', '--follow', pod];
  return spawn(kubectl, args, { stdio: ['ignore', 'pipe', 'inherit'] });
}

/** How many logs the daemon reads. */
function openLogs({ bed, daemon }: ClusterBed): number {
  return openBelow(bed.podLogsDir, daemon.pid);
}
