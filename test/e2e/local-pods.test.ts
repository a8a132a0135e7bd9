/** Ordinary pods without a cluster: `--pods`. They end as pods of an API server do, and stay ended. */
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Daemon, DaemonBed, statelet } from '../support/daemon.ts';
import { sendSignal } from '../support/send-signal.ts';
import { put } from '../agent/sources/support.ts';

let bed: DaemonBed;
beforeEach(() => {
  bed = new DaemonBed();
});
afterEach(async () => bed.cleanUp());

const file = (name: string) => join(bed.manifestDir, name);
const sleeper = (more: object = {}, metadata: object = {}) =>
  manifest('web', { containers: [{ name: 'main', command: ['sleep', '1000'] }], ...more }, metadata);

function manifest(name: string, spec: object, metadata: object = {}): string {
  const common = { terminationGracePeriodSeconds: 1 };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...metadata },
    spec: { ...common, ...spec },
  });
}

const start = (...flags: string[]) => bed.run(['--pods', bed.manifestDir, ...flags]);
const finished = (daemon: Daemon, name: string) => daemon.inState(name, 'Terminated.Finished');

test('a pod has the name and the priority of its manifest; UID and status of it do not count', async () => {
  await put(
    file('web.yaml'),
    sleeper({ priorityClassName: 'system-cluster-critical' }, { uid: 'mine', namespace: 'shop' }),
  );
  const pod = await (await start()).running('web');
  expect(pod).toMatchObject({
    metadata: { name: 'web', namespace: 'shop', annotations: { 'kubernetes.io/config.source': 'local' } },
    spec: { priority: 2_000_000_000, nodeName: 'node-a' },
  });
  expect(pod.metadata.uid).toMatch(/^[0-9a-f]{32}$/u);
});

describe('after a restart of the agent', () => {
  test('a running pod goes on, and one that has ended stays ended, with its status', async () => {
    await put(file('web.yaml'), sleeper());
    const failing = {
      containers: [{ name: 'main', command: ['sh', '-c', 'exit 3'] }],
      restartPolicy: 'Never',
    };
    await put(file('job.yaml'), manifest('job', failing));
    await put(
      file('large.yaml'),
      manifest('large', {
        containers: [{ name: 'main', command: ['true'], resources: { requests: { cpu: '100000' } } }],
      }),
    );
    const first = await start();
    const web = await first.running('web');
    const [job, large] = [await finished(first, 'job'), await finished(first, 'large')];
    expect(large.status).toMatchObject({ phase: 'Failed', reason: 'OutOfcpu' });
    await first.end('SIGKILL');

    const second = await start();
    expect((await second.running('web')).status?.containerStatuses).toEqual(web.status?.containerStatuses);
    expect((await finished(second, 'job')).status).toEqual(job.status);
    expect((await finished(second, 'large')).status).toEqual(large.status);
  });

  test('a changed manifest is a new pod', async () => {
    await put(
      file('job.yaml'),
      manifest('job', { containers: [{ name: 'main', command: ['false'] }], restartPolicy: 'Never' }),
    );
    const first = await start();
    const { uid } = (await finished(first, 'job')).metadata;
    await first.end();
    await put(
      file('job.yaml'),
      manifest('job', { containers: [{ name: 'main', command: ['sleep', '1000'] }] }),
    );
    expect((await (await start()).running('job')).metadata.uid).not.toBe(uid);
  });

  test('a pod that ended with the agent starts again', async () => {
    await put(file('web.yaml'), sleeper());
    const first = await start('--exit-with-pods');
    await first.running('web');
    expect(await first.end()).toBe(0);
    await (await start('--exit-with-pods')).running('web');
  });
});

test('a pod whose manifest goes away and comes back starts again', async () => {
  const text = manifest('job', {
    containers: [{ name: 'main', command: ['false'] }],
    restartPolicy: 'Never',
  });
  await put(file('job.yaml'), text);
  const daemon = await start();
  await finished(daemon, 'job');
  rmSync(file('job.yaml'));
  await daemon.onlyPods();
  await put(file('job.yaml'), text);
  await finished(daemon, 'job');
  const starts = daemon.log.filter(({ pod, reason }) => pod === 'default/job' && reason === 'Started');
  expect(starts).toHaveLength(2);
});

test('of a changed manifest the old pod ends before the new one starts', async () => {
  await put(file('web.yaml'), sleeper());
  const daemon = await start();
  const old = await daemon.running('web');
  await put(file('web.yaml'), sleeper({ hostname: 'other' }));
  await daemon.until('web', 'replaced', ({ metadata, status }) => {
    return metadata.uid !== old.metadata.uid && status?.phase === 'Running';
  });
  const events = daemon.log.filter(({ reason, msg }) => reason === 'Started' || msg.startsWith('Finished'));
  expect(events.map(({ uid }) => uid === old.metadata.uid)).toEqual([true, true, false]);
});

test('a deleted pod stays ended after a restart', async () => {
  await put(file('web.yaml'), sleeper());
  const first = await start();
  await first.running('web');
  const { stdout } = await statelet('delete', 'web', '--root-dir', bed.rootDir);
  expect(stdout).toContain('pod "web" deleted');
  const before = await finished(first, 'web');
  expect(before.status).toMatchObject({ phase: 'Failed', reason: 'Deleted' });
  sendSignal(first.pid, 'SIGKILL');
  await first.ended;
  expect((await finished(await start(), 'web')).status).toEqual(before.status);
});

test('a static pod and several places of ordinary pods beside each other', async () => {
  const server = createServer((_, response) =>
    response.end(manifest('remote', { containers: [{ name: 'main', command: ['sleep', '1000'] }] })),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/pods.yaml`;
    await put(file('web.yaml'), sleeper());
    await put(
      join(bed.dir, 'system.yaml'),
      manifest('system', { containers: [{ name: 'main', command: ['sleep', '1000'] }] }),
    );
    const daemon = await start('--pods', url, '--pod-manifest-path', join(bed.dir, 'system.yaml'));
    const pods = await Promise.all(['web', 'remote', 'system'].map((name) => daemon.running(name)));
    expect(pods.map(({ metadata }) => metadata.name)).toEqual(['web', 'remote', 'system-node-a']);
  } finally {
    server.close();
  }
});

describe('what cannot be', () => {
  test('pods with fields that need an API server, each named with its file', async () => {
    const spec = {
      serviceAccountName: 'web',
      priorityClassName: 'gold',
      containers: [{ name: 'main', command: ['true'] }],
    };
    await put(file('web.yaml'), manifest('web', spec));
    const daemon = await start();
    await daemon.warning(
      'web.yaml: spec.serviceAccountName: pods without an API server may not reference serviceaccounts',
    );
    await daemon.warning('web.yaml: spec.priorityClassName: "gold" is not known without an API server');
  });

  test.each([
    [['--pods', 'x', '--kubeconfig', 'y'], /--pods is for a node without an API server/u],
    [['--pods', ''], /--pods <PATH>.* It must be a file, a folder, or an http or https URL/u],
    [['--pods', 'ftp://secret@example.com'], /--pods must be a file, a folder, or an http or https URL/u],
  ])('%j', async (flags, message) => {
    const { code, stderr } = await statelet('run', '--root-dir', bed.rootDir, ...flags);
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain('secret');
    expect(code).not.toBe(0);
  });
});
