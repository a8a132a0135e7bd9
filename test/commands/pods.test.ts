import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { writeAddress } from '../../src/agent/server/control-socket.ts';
import { startNetworkServer } from '../../src/agent/server/endpoints.ts';
import type { ServedPod } from '../../src/types/served-pod.ts';
import { pods } from '../../src/commands/pods.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import { cli } from '../support/cli.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const NOW = Date.parse('2030-01-01T01:00:00Z');

const served = (name: string, namespace: string, more: Partial<ServedPod> = {}): ServedPod => ({
  pod: { metadata: { name, namespace, uid: `uid-${name}` }, spec: { containers: [{ name: 'c' }] } },
  state: 'Syncing.Settled',
  ...more,
});

const web: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'uid-web', creationTimestamp: '2030-01-01T00:00:00Z' },
  spec: { nodeName: 'node-1', containers: [{ name: 'c' }] },
};
const crashing = {
  phase: 'Running',
  podIP: '10.0.0.1',
  startTime: '2030-01-01T00:30:00Z',
  containerStatuses: [
    {
      name: 'c',
      image: 'i',
      imageID: '',
      ready: false,
      restartCount: 3,
      state: { waiting: { reason: 'CrashLoopBackOff' } },
      lastState: { terminated: { exitCode: 1, finishedAt: '2030-01-01T00:59:20Z' } },
    },
  ],
};

async function serve(list: ServedPod[]): Promise<string> {
  const server = await startNetworkServer(
    { host: '127.0.0.1', port: 0 },
    { health: () => undefined, pods: () => list },
  );
  closing.push(() => server.close());
  return server.address;
}

describe('the table', () => {
  test('has a line for each pod, sorted by namespace and name, with the columns of kubectl and the state of its chart', async () => {
    const list = [
      served('b', 'kube-system'),
      served('a', 'kube-system', { status: { phase: 'Pending', startTime: '2030-01-01T00:59:55Z' } }),
      { pod: web, status: crashing, state: 'Syncing.BackingOff' },
    ];
    expect(await pods({ server: await serve(list) }, NOW)).toBe(
      [
        'NAMESPACE     NAME   READY   STATUS             RESTARTS      AGE         STATE',
        'default       web    0/1     CrashLoopBackOff   3 (40s ago)   60m         Syncing.BackingOff',
        'kube-system   a      0/1     Pending            0             5s          Syncing.Settled',
        'kube-system   b      0/1     Unknown            0             <unknown>   Syncing.Settled',
        '',
      ].join('\n'),
    );
  });

  test('says beside the state what a pod waits for', async () => {
    const waiting = served('late', 'default', {
      state: 'Syncing.Starting.MakingRoom',
      waitsFor: 'waits for cpu=300m; default/batch-3 is ending for it',
    });
    expect(await pods({ server: await serve([waiting]) }, NOW)).toContain(
      'Syncing.Starting.MakingRoom (waits for cpu=300m; default/batch-3 is ending for it)',
    );
  });

  test('shows the age of a static pod that has not started yet', async () => {
    const annotations = { 'kubernetes.io/config.seen': '2030-01-01T00:58:00Z' };
    const { pod, state } = served('late', 'default');
    const waiting = { pod: { ...pod, metadata: { ...pod.metadata, annotations } }, state };
    expect(await pods({ server: await serve([waiting]) }, NOW)).toMatch(/late .* 2m +Syncing.Settled/);
  });

  test('has address, node and UID when it is wide', async () => {
    const list = [{ pod: web, status: crashing, state: 'Syncing.BackingOff' }, served('x', 'y')];
    const lines = (await pods({ server: await serve(list), output: 'wide' }, NOW)).split('\n');
    expect(lines[0]).toMatch(/STATE +IP +NODE +UID$/);
    expect(lines[1]).toMatch(/ 10\.0\.0\.1 +node-1 +uid-web$/);
    expect(lines[2]).toMatch(/ <none> +<none> +uid-x$/);
  });

  test('is replaced by a sentence when there are no pods', async () => {
    expect(await pods({ server: await serve([]) })).toBe('No pods.\n');
  });
});

test('json and yaml are the list as it is served', async () => {
  const server = await serve([{ pod: web, status: crashing, state: 'Syncing.BackingOff' }]);
  const list: unknown = await (await fetch(`http://${server}/pods`)).json();
  expect(JSON.parse(await pods({ server: `http://${server}/`, output: 'json' }))).toEqual(list);
  expect(parse(await pods({ server, output: 'yaml' }))).toEqual(list);
});

describe('the daemon is found', () => {
  test('by the address file in its root folder', async () => {
    const rootDir = await mkdtemp(join(tmpdir(), 'statelet-'));
    closing.push(() => rm(rootDir, { recursive: true }));
    await writeAddress(rootDir, await serve([served('a', 'default')]));
    const { code, stdout } = await cli('pods', '--root-dir', rootDir);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^default +a +0\/1/m);
  });
});

describe('a clear message and exit code 1', () => {
  test('when no daemon serves from that folder', async () => {
    const { code, stdout, stderr } = await cli('pods', '--root-dir', '/nowhere');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe(
      'statelet: no statelet serves from /nowhere, the root folder given by --root-dir: there is no /nowhere/statelet.sock\n' +
        'give the --root-dir that it was started with, or its --server\n',
    );
  });

  test('when nothing answers', async () => {
    // A port that no server gets by chance.
    const { code, stderr } = await cli('pods', '--server', '127.0.0.1:1');
    expect(code).toBe(1);
    expect(stderr).toMatch('statelet: no statelet answers at http://127.0.0.1:1; is it running?');
  });

  const others: [string, RequestListener][] = [
    ['another server', (_, response) => response.writeHead(404).end('nothing here')],
    ['HTML', (_, response) => response.end('<html>')],
    ['JSON of another kind', (_, response) => response.end('{"items":5}')],
    ['null', (_, response) => response.end('null')],
  ];
  test.each(others)('when %s answers', async (_, listener) => {
    const server = createServer(listener).listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    await expect(pods({ server: `127.0.0.1:${port}` })).rejects.toMatchObject({
      kind: 'Unavailable',
      message: expect.stringContaining(`http://127.0.0.1:${port}/pods is not served by a statelet`),
    });
  });
});
