/** The sources of manifests, and the running pods when a source fails or has invalid manifests. */
import { execFileSync } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer as createSocket, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Pod } from '../../src/types/kubernetes.ts';
import { mountHungDisk, testAsRoot } from '../support/as-root.ts';
import { type Daemon, DaemonBed, isRunning, mainProcesses } from '../support/daemon.ts';
import { waitFor } from '../support/wait-for.ts';
import { Journal, manifest, replaceFile, shell } from './manifests.ts';

let bed: DaemonBed;
let journal: Journal;
let daemon: Daemon;

beforeEach(() => {
  bed = new DaemonBed();
  journal = new Journal(bed.dir);
});
afterEach(async () => bed.cleanUp());

const file = (name: string) => join(bed.manifestDir, name);

/** Asserts that the pod has the same UID, container statuses and process as before. */
async function expectUndisturbed(pod: Pod): Promise<void> {
  const now = (await daemon.pods()).find(({ metadata }) => metadata.uid === pod.metadata.uid);
  expect(now?.status?.containerStatuses).toEqual(pod.status?.containerStatuses);
  expect(mainProcesses(pod)).toHaveLength(1);
}

describe('files', () => {
  test('broken YAML: a warning names file and line; the pod of the last good version and all other pods keep running', async () => {
    writeFileSync(file('web.yaml'), manifest('web'));
    writeFileSync(file('other.yaml'), manifest('other'));
    daemon = await bed.start();
    const [web, other] = [await daemon.running('web'), await daemon.running('other')];
    replaceFile(file('web.yaml'), 'apiVersion: v1\nkind: Pod\nmetadata: {name: web\nspec: {}\n');
    const { msg } = await daemon.warning(file('web.yaml'), 'is not valid YAML');
    expect(msg).toMatch(/ at line [34], column \d+$/);
    // A later change was handled: the broken file has had no effect until then.
    writeFileSync(file('late.yaml'), manifest('late'));
    await daemon.running('late');
    await expectUndisturbed(web);
    await expectUndisturbed(other);

    // Corrected, with the old content: still the same pod.
    replaceFile(file('web.yaml'), manifest('web'));
    rmSync(file('late.yaml'));
    await daemon.onlyPods('web', 'other');
    await expectUndisturbed(web);
  });

  test('a manifest that is broken when the daemon restarts: its pod keeps running, and is updated when the manifest is valid', async () => {
    writeFileSync(file('web.yaml'), manifest('web'));
    daemon = await bed.start();
    const web = await daemon.running('web');
    const kept = join(bed.rootDir, 'manifests', 'file');
    await waitFor(() => existsSync(kept) && readdirSync(kept).some((name) => name.endsWith('.json')), {
      what: 'the last good version on the disk',
    });
    await daemon.end('SIGKILL');
    replaceFile(file('web.yaml'), 'kind: [');
    daemon = await bed.start();
    await daemon.warning(`${file('web.yaml')}: its last good version is used`);
    await daemon.running('web');
    // Housekeeping ends pods without a manifest. When such a pod is gone, housekeeping has run.
    writeFileSync(file('late.yaml'), manifest('late'));
    await daemon.running('late');
    rmSync(file('late.yaml'));
    await daemon.onlyPods('web');
    await expectUndisturbed(web);

    replaceFile(file('web.yaml'), manifest('web', { containers: [shell(journal.serve('mended'))] }));
    await journal.until('mended starts');
  });

  test('an invalid field: a warning names file and field, and other pods start', async () => {
    const misspelt = { ...shell('exit 0'), comand: ['sleep'] };
    writeFileSync(file('misspelt.yaml'), manifest('misspelt', { containers: [misspelt] }));
    writeFileSync(
      file('mistyped.yaml'),
      manifest('mistyped', { terminationGracePeriodSeconds: 'soon' as never }),
    );
    writeFileSync(file('service.yaml'), 'apiVersion: v1\nkind: Service\nmetadata: {name: web}\n');
    writeFileSync(file('empty.yaml'), '');
    writeFileSync(file('web.yaml'), manifest('web'));
    daemon = await bed.start();
    await daemon.running('web');
    const { msg } = await daemon.warning(
      `${file('misspelt.yaml')}: spec.containers[0].comand: unknown field`,
    );
    expect(msg).toContain('did you mean "command"?');
    await daemon.warning(`${file('mistyped.yaml')}: spec.terminationGracePeriodSeconds: `, '"soon"');
    await daemon.warning(`${file('service.yaml')}: kind: a Service has no effect here`);
    await daemon.warning(`${file('empty.yaml')}: holds no pod`);
    await daemon.onlyPods('web');
  });

  test('the pod of a large manifest, which a worker thread reads, runs; a manifest that is too large is a warning', async () => {
    writeFileSync(file('web.yaml'), `${manifest('web')}\n#${' '.repeat(20_000)}\n`);
    const keys = Array.from({ length: 25_000 }, (_, index) => `    key-${index}: ""`).join('\n');
    const text = `apiVersion: v1\nkind: Pod\nmetadata:\n  name: keys\n  annotations:\n${keys}\n`;
    writeFileSync(file('keys.yaml'), text);
    daemon = await bed.start();
    await daemon.warning(`${file('keys.yaml')}: has more than 20000 values, too many for one pod`);
    await daemon.running('web');
  });

  test('a folder that cannot be read: a warning, and its pods keep running, also when it can be read again', async () => {
    // Root can read every folder, but not a link that leads to itself.
    const link = join(bed.dir, 'link');
    symlinkSync(bed.manifestDir, link);
    writeFileSync(file('web.yaml'), manifest('web'));
    daemon = await bed.run([
      '--pod-manifest-path',
      link,
      '--exit-with-pods',
      '--file-check-frequency',
      '100ms',
    ]);
    const web = await daemon.running('web');
    turn(link, 'link');
    const { msg } = await daemon.warning(`${link}: cannot be read, its pods stay as they are`);
    expect(msg).toContain('ELOOP');
    await expectUndisturbed(web);
    writeFileSync(file('late.yaml'), manifest('late'));
    turn(link, bed.manifestDir);
    await daemon.running('late');
    await expectUndisturbed(web);
  });

  test('a socket, a dangling link and an unreadable file are reported', async () => {
    writeFileSync(file('web.yaml'), manifest('web'));
    mkdirSync(file('folder.yaml'));
    symlinkSync('nowhere', file('dangling.yaml'));
    symlinkSync('endless.yaml', file('endless.yaml'));
    const socket = createSocket().listen(file('socket.yaml'));
    try {
      daemon = await bed.start();
      await daemon.running('web');
      await daemon.warning(`${file('socket.yaml')}: is neither a file nor a folder`);
      await daemon.warning(`${file('dangling.yaml')}: is a link to nothing`);
      await daemon.warning(`${file('endless.yaml')}: cannot be read`, 'ELOOP');
    } finally {
      socket.close();
    }
  });

  testAsRoot('a path that would block its reader is named, and the other manifests go on', async () => {
    const hung = mountHungDisk(bed.dir);
    try {
      execFileSync('mkfifo', [file('a-pipe.yaml')]);
      symlinkSync('/proc/kmsg', file('b-log.yaml'));
      symlinkSync(join(hung.path, 'pod.yaml'), file('c-hung.yaml'));
      writeFileSync(file('web.yaml'), manifest('web'));
      daemon = await bed.start();
      const web = await daemon.running('web');
      await daemon.warning(`${file('a-pipe.yaml')}: is neither a file nor a folder`);
      await daemon.warning(`${file('b-log.yaml')}: has no end`);
      await daemon.warning(`${file('c-hung.yaml')}: cannot be read: its file system does not answer`);
      const health = await daemon.fetch('/healthz');
      expect([health.status, await health.text()]).toEqual([
        500,
        expect.stringMatching(/a-pipe\.yaml: .*b-log\.yaml: .*c-hung\.yaml: /),
      ]);
      writeFileSync(file('late.yaml'), manifest('late'));
      await daemon.running('late');
      for (const name of ['a-pipe.yaml', 'b-log.yaml', 'c-hung.yaml']) rmSync(file(name));
      await waitFor(async () => (await daemon.fetch('/healthz')).ok, { what: 'a healthy daemon' });
      const isTold = ({ msg }: { msg: string }) => msg.endsWith('a-pipe.yaml: blocks its reader no more');
      await waitFor(() => daemon.log.some(isTold), { what: 'the word that the pipe blocks no more' });
      await expectUndisturbed(web);
      // The call that hangs is still under way.
      expect(await daemon.end()).toBe(0);
    } finally {
      hung.unmount();
    }
  });

  testAsRoot(
    'a folder that hangs keeps the pods of its last reading, and is read again when it answers',
    async () => {
      const [link, hung] = [join(bed.dir, 'link'), mountHungDisk(bed.dir)];
      let web: Pod;
      try {
        writeFileSync(file('web.yaml'), manifest('web'));
        symlinkSync(bed.manifestDir, link);
        daemon = await bed.run([
          '--pod-manifest-path',
          link,
          '--exit-with-pods',
          '--file-check-frequency',
          '1s',
        ]);
        web = await daemon.running('web');
        turn(link, join(hung.path, 'pods'));
        await daemon.warning(
          `${link}: cannot be read, its pods stay as they are: its file system does not answer`,
        );
        expect((await daemon.fetch('/healthz')).status).toBe(500);
        await expectUndisturbed(web);
      } finally {
        hung.unmount();
      }
      turn(link, bed.manifestDir);
      writeFileSync(file('late.yaml'), manifest('late'));
      await daemon.running('late');
      await expectUndisturbed(web);
    },
  );

  test('a manifest that becomes unreadable keeps its pod', async () => {
    writeFileSync(file('web.yaml'), manifest('web'));
    daemon = await bed.start();
    const web = await daemon.running('web');
    turn(file('web.yaml'), 'web.yaml');
    await daemon.warning(`${file('web.yaml')}: cannot be read`);
    writeFileSync(file('late.yaml'), manifest('late'));
    await daemon.running('late');
    await expectUndisturbed(web);
  });

  test('a folder that does not exist yet has no pods; its pods start when it is created', async () => {
    const folder = join(bed.dir, 'later');
    daemon = await bed.run(['--pod-manifest-path', folder, '--exit-with-pods']);
    await daemon.warning(`${folder}: does not exist`);
    mkdirSync(folder);
    writeFileSync(join(folder, 'web.yaml'), manifest('web'));
    await daemon.running('web');
  });

  /** Replaces `path` by a link to `target`. */
  function turn(path: string, target: string): void {
    symlinkSync(target, join(bed.dir, '.new'));
    renameSync(join(bed.dir, '.new'), path);
  }
});

describe('http', () => {
  let server: Server;
  let answer: { status: number; type: string; body: string };
  let requests = 0;

  beforeEach(async () => {
    requests = 0;
    server = createServer((request, response) => {
      requests += 1;
      const { status, type, body } =
        request.headers['x-token'] === 'abc' ? answer : { status: 401, type: 'text/plain', body: 'no token' };
      response.writeHead(status, { 'Content-Type': type }).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  const yaml = (body: string) => ({ status: 200, type: 'application/yaml', body });
  const podList = (...pods: string[]) =>
    yaml(
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'PodList',
        items: pods.map((pod) => JSON.parse(pod) as object),
      }),
    );

  function start(...more: string[]): Promise<Daemon> {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/pods`;
    const flags = [
      '--manifest-url',
      url,
      '--manifest-url-header',
      'X-Token: abc',
      '--http-check-frequency',
      '50ms',
    ];
    return bed.run([...flags, '--exit-with-pods', ...more]);
  }

  test('pods start, a changed manifest replaces only its pod, and pods that are no longer listed end', async () => {
    const other = manifest('other');
    answer = podList(manifest('web', { containers: [shell(journal.serve('first', 0.2))] }), other);
    daemon = await start();
    const [web, unchanged] = [await daemon.running('web'), await daemon.running('other')];
    expect(web.metadata.annotations?.['kubernetes.io/config.source']).toBe('http');
    await journal.until('first starts');

    answer = podList(manifest('web', { containers: [shell(journal.serve('second'))] }), other);
    await journal.until('second starts');
    expect(journal.lines()).toEqual(['first starts', 'first ends', 'second starts']);
    await expectUndisturbed(unchanged);

    answer = podList(other);
    await daemon.onlyPods('other');
    expect(journal.lines()).toContain('second ends');
    await expectUndisturbed(unchanged);
  });

  test('10: a pod of the same name from a file waits until the pod from the URL has ended', async () => {
    answer = yaml(manifest('web', { containers: [shell(journal.serve('http', 0.2))] }));
    daemon = await start('--pod-manifest-path', bed.manifestDir);
    await daemon.running('web');
    await journal.until('http starts');
    writeFileSync(file('web.yaml'), manifest('web', { containers: [shell(journal.serve('file'))] }));
    await daemon.inState('web', 'Syncing.Starting.AwaitingName');
    answer = podList();
    await journal.until('file starts');
    expect(journal.lines()).toEqual(['http starts', 'http ends', 'file starts']);
  });

  test('500, a web page, an empty answer, no answer: each is a warning, and the pods keep running', async () => {
    answer = yaml(manifest('web'));
    daemon = await start();
    const web = await daemon.running('web');
    answer = { status: 500, type: 'text/plain', body: 'out of order' };
    await daemon.warning('/pods: the server answered 500');
    answer = { status: 200, type: 'text/html', body: '<!doctype html><title>Sign in</title>' };
    await daemon.warning('/pods: the answer is a web page, not a manifest');
    answer = yaml('');
    await daemon.warning('/pods: the answer is empty');
    answer = yaml('kind: Pod\nmetadata: {name: web');
    await daemon.warning('/pods: is not valid YAML');
    await expectUndisturbed(web);
    const processes = mainProcesses(web);

    answer = yaml(manifest('web', { containers: [shell(journal.serve('changed'))] }));
    await journal.until('changed starts');
    expect(processes.some(isRunning)).toBe(false);
    expect(requests).toBeGreaterThan(5);
  });

  test('a server that does not answer when the daemon starts: the pods of the last run keep running until it answers', async () => {
    answer = yaml(manifest('web'));
    daemon = await start();
    const web = await daemon.running('web');
    await daemon.end('SIGKILL');

    answer = { status: 503, type: 'text/plain', body: 'starting' };
    daemon = await start();
    await daemon.warning('/pods: the server answered 503');
    // Long enough for housekeeping, which ends pods without a source when all sources have been seen.
    const before = requests;
    await waitFor(() => requests > before + 45, { what: 'requests over more than two seconds' });
    expect(mainProcesses(web)).toHaveLength(1);
    answer = yaml(manifest('web'));
    await daemon.running('web');
    await expectUndisturbed(web);
  });
});
