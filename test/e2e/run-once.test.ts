/** `statelet run-once` with plain processes. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { DaemonBed, mainProcesses, NODE_NAME, statelet } from '../support/daemon.ts';
import { awaitFile, Journal, type ManifestFields, manifest, SERVE, shell, touch } from './manifests.ts';

/** Flags for few retries, so that a failed pod is reported soon. */
const ONE_RETRY = ['--max-retries', '1'];
/** The time for which run-once watches for failing containers; no container fails here. */
const SHORT_DELAY = ['--retry-delay', '100ms'];

interface PodView {
  readonly name: string;
  readonly uid: string;
  readonly result: string;
  readonly reason?: string;
  readonly message?: string;
  readonly failedContainers: readonly string[];
  readonly leftRunning: boolean;
  readonly containers: readonly {
    readonly name: string;
    readonly state?: object;
    readonly restartCount: number;
  }[];
}

interface Report {
  readonly pods: readonly PodView[];
  readonly problems: readonly { readonly file?: string; readonly message: string }[];
}

let bed: DaemonBed;
beforeEach(() => {
  bed = new DaemonBed();
});
afterEach(async () => bed.cleanUp());

function write(name: string, fields: ManifestFields = {}): void {
  writeFileSync(join(bed.manifestDir, `${name}.yaml`), manifest(name, fields));
}

const run = (...flags: string[]) => bed.runOnce('--pod-manifest-path', bed.manifestDir, ...flags).result;

async function report(...flags: string[]): Promise<{ code: number | null; report: Report }> {
  const { code, stdout } = await run('-o', 'json', ...flags);
  return { code, report: JSON.parse(stdout) as Report };
}

/** The rows of the table, by their cells. */
function table(stdout: string): readonly (readonly string[])[] {
  const [, rows = ''] = stdout.split('\n\n');
  return rows
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/));
}

const HEADER = ['NAMESPACE', 'NAME', 'READY', 'STATUS', 'RESTARTS', 'RESULT', 'FAILED'];
const row = (name: string, ...cells: string[]) => ['default', `${name}-${NODE_NAME}`, ...cells];

describe('a pod that was deleted on its node', () => {
  test('does not start, its running containers end, and a changed manifest starts it again', async () => {
    write('gone', { containers: [shell(SERVE)] });
    write('web', { containers: [shell(SERVE)] });
    const first = (await report(...SHORT_DELAY)).report.pods;
    expect(first.map(({ leftRunning }) => leftRunning)).toEqual([true, true]);
    const [{ uid } = { uid: '' }] = first;
    writeFileSync(join(bed.rootDir, 'ended-pods.json'), JSON.stringify({ pods: [{ uid }] }));
    const { code, report: second } = await report(...SHORT_DELAY);
    expect([code, second.pods]).toEqual([
      0,
      [
        expect.objectContaining({
          result: 'Deleted',
          message: expect.stringContaining('starts again when its manifest changes'),
          leftRunning: false,
        }),
        expect.objectContaining({ result: 'Running', leftRunning: true }),
      ],
    ]);
    write('gone', { containers: [shell(`: changed; ${SERVE}`)] });
    const third = (await report(...SHORT_DELAY)).report.pods;
    expect(third.map(({ result }) => result)).toEqual(['Running', 'Running']);
  });
});

describe('all pods succeed', () => {
  test('they run or have completed; the exit code is 0, and they keep running after the end of run-once', async () => {
    write('job', { restartPolicy: 'OnFailure', containers: [shell('exit 0')] });
    write('web', { initContainers: [shell('exit 0', { name: 'init' })], containers: [shell(SERVE)] });
    const { code, stdout, stderr } = await run();
    expect(code).toBe(0);
    expect(stdout.split('\n').slice(0, 2).toSorted()).toEqual([
      `default/job-${NODE_NAME}: Completed`,
      `default/web-${NODE_NAME}: Running`,
    ]);
    expect(table(stdout)).toEqual([
      HEADER,
      row('job', '0/1', 'Completed', '0', 'Completed', '<none>'),
      row('web', '1/1', 'Running', '0', 'Running', '<none>'),
    ]);
    expect(stderr).toContain('"msg":"Container started"');
    // A daemon adopts them unchanged.
    const daemon = await bed.start();
    expect(mainProcesses(await daemon.running('web'))).toHaveLength(1);
    expect((await daemon.inPhase('job', 'Succeeded')).status?.containerStatuses?.[0]?.restartCount).toBe(0);
  });

  test('a second run finds them, and starts no container again', async () => {
    write('job', { restartPolicy: 'Never', containers: [shell('exit 0')] });
    write('web');
    const first = await report();
    const second = await report();
    expect([first.code, second.code]).toEqual([0, 0]);
    expect(first.report.pods.map(({ result, leftRunning }) => [result, leftRunning])).toEqual([
      ['Completed', false],
      ['Running', true],
    ]);
    expect(second.report).toEqual(first.report);
  });

  test('a pod whose manifest has changed replaces the running one', async () => {
    const journal = new Journal(bed.dir);
    write('web', { containers: [shell(journal.serve('former'))] });
    const before = await report(...SHORT_DELAY);
    write('web', { containers: [shell(journal.serve('latter'))] });
    const after = await report(...SHORT_DELAY);
    expect([before.code, after.code]).toEqual([0, 0]);
    await journal.until('latter starts');
    expect(journal.lines()).toEqual(['former starts', 'former ends', 'latter starts']);
  });
});

describe('some pods fail', () => {
  test('a rejected pod and a pod whose container fails: the others run, each pod has its line, the exit code is 1', async () => {
    const tooMuch = { resources: { requests: { cpu: String(availableParallelism() + 1) } } };
    write('elsewhere', { nodeSelector: { disk: 'ssd' } });
    write('failing', { containers: [shell(SERVE), shell('exit 7', { name: 'bad' })] });
    write('large', { containers: [shell(SERVE, tooMuch)] });
    write('once', { restartPolicy: 'Never', containers: [shell('exit 3')] });
    write('web');
    const { code, stdout, stderr } = await run(...ONE_RETRY);
    expect(code).toBe(1);
    const [lines = ''] = stdout.split('\n\n');
    const line = (name: string) => lines.split('\n').find((text) => text.includes(`/${name}-`)) ?? '';
    expect(line('elsewhere')).toContain('Rejected: NodeAffinity: Predicate NodeAffinity failed');
    expect(line('large')).toContain("Rejected: OutOfcpu: Node didn't have enough resource: cpu");
    expect(line('failing')).toMatch(
      /Failed: Timeout: containers not running after 1 retry: bad: exit code 7 \(Error\); CrashLoopBackOff/,
    );
    expect(line('once')).toMatch(
      /Failed: ContainersFailed: a container failed: main: exit code 3 \(Error\)$/,
    );
    expect(line('web')).toMatch(/: Running$/);
    expect(table(stdout)).toEqual([
      HEADER,
      row('elsewhere', '0/1', 'NodeAffinity', '0', 'Rejected', '<none>'),
      row('failing', '1/2', 'CrashLoopBackOff', '1', 'Failed', 'bad'),
      row('large', '0/1', 'OutOfcpu', '0', 'Rejected', '<none>'),
      row('once', '0/1', 'Error', '0', 'Failed', 'main'),
      row('web', '1/1', 'Running', '0', 'Running', '<none>'),
    ]);
    const bad = ['elsewhere', 'failing', 'large', 'once'].map((name) => `default/${name}-${NODE_NAME}`);
    expect(stderr).toContain(`statelet: 4 of 5 pods did not come up: ${bad.join(', ')}\n`);
  });

  test('as JSON: standard output is one document', async () => {
    write('elsewhere', { nodeSelector: { disk: 'ssd' } });
    write('once', { restartPolicy: 'Never', containers: [shell('exit 3')] });
    const { code, report: told } = await report(...ONE_RETRY);
    expect(code).toBe(1);
    const [elsewhere, single] = told.pods;
    expect(elsewhere).toMatchObject({ result: 'Rejected', reason: 'NodeAffinity', containers: [] });
    expect(single).toMatchObject({
      namespace: 'default',
      name: `once-${NODE_NAME}`,
      source: 'file',
      phase: 'Failed',
      result: 'Failed',
      reason: 'ContainersFailed',
      failedContainers: ['main'],
      leftRunning: false,
      containers: [
        { name: 'main', restartCount: 0, state: { terminated: { exitCode: 3, reason: 'Error' } } },
      ],
    });
    expect(told.problems).toEqual([]);
  });

  test('an invalid manifest: the other pods run, the exit code is 1', async () => {
    write('web');
    writeFileSync(
      join(bed.manifestDir, 'broken.yaml'),
      'apiVersion: v1\nkind: Service\nmetadata: {name: web}\n',
    );
    const { code, report: told } = await report(...SHORT_DELAY);
    expect(code).toBe(1);
    expect(told.pods.map(({ result }) => result)).toEqual(['Running']);
    expect(told.problems).toMatchObject([{ file: join(bed.manifestDir, 'broken.yaml') }]);
  });

  test('there are no pods', async () => {
    const { code, stdout, stderr } = await run();
    expect([code, stdout]).toEqual([1, '\nNo pods.\n']);
    expect(stderr).toBe('statelet: no pod came from the sources\n');
  });
});

describe('pods of a URL', () => {
  let server: Server;
  let url: string;
  beforeEach(async () => {
    server = createServer((request, response) => {
      // Other requests get no answer.
      if (request.url === '/pods') response.end(manifest('remote'));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    server.close();
    server.closeAllConnections();
  });

  test('run beside those of a folder', async () => {
    write('web');
    const { code, report: told } = await report('--manifest-url', `${url}/pods`, ...SHORT_DELAY);
    expect(code).toBe(0);
    expect(told.pods.map(({ name, result }) => [name, result])).toEqual([
      [`web-${NODE_NAME}`, 'Running'],
      [`remote-${NODE_NAME}`, 'Running'],
    ]);
  });

  test('are left out if the server does not answer in time', async () => {
    write('web');
    const { code, report: told } = await report('--manifest-url', `${url}/never`, ...SHORT_DELAY);
    expect(code).toBe(1);
    expect(told.pods.map(({ name }) => name)).toEqual([`web-${NODE_NAME}`]);
    const message = 'cannot be fetched: no answer within 10 s';
    expect(told.problems).toEqual([{ source: 'http', file: `${url}/never`, message }]);
  });
});

test('run-once continues to its end if its output is closed', async () => {
  write('web');
  write('bad', { restartPolicy: 'Never', containers: [shell('exit 3')] });
  const { child, result } = bed.runOnce('--pod-manifest-path', bed.manifestDir, ...ONE_RETRY);
  child.stdout?.destroy();
  child.stderr?.destroy();
  await once(child, 'exit');
  // The failed pod, for which run-once waited.
  expect((await result).code).toBe(1);
  const daemon = await bed.start();
  expect(mainProcesses(await daemon.running('web'))).toHaveLength(1);
  expect(daemon.log.filter(({ reason }) => reason === 'Started')).toEqual([]);
});

test('SIGTERM ends run-once at once; it prints the pods that keep running', async () => {
  // It fails only when web runs: ten seconds later its container would start anew.
  const mayFail = join(bed.dir, 'may-fail');
  const waits = shell(awaitFile(mayFail), { name: 'waits' });
  write('failing', { initContainers: [waits], containers: [shell('exit 7')] });
  write('web');
  const { child, result } = bed.runOnce('--pod-manifest-path', bed.manifestDir);
  if (child.stdout === null) throw new Error('it has no stdout');
  if (child.stderr === null) throw new Error('it has no stderr');
  const lineOf = (input: Readable, isWanted: (line: string) => boolean): Promise<undefined> => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const lines = createInterface({ input }).on('close', () => resolve(undefined));
    lines.on('line', (line) => isWanted(line) && resolve(undefined));
    return promise;
  };
  // The status says so from the second sync on.
  const isSecond = (line: string) => line.includes('"reason":"BackOff"') && line.includes('"count":2');
  const backsOff = lineOf(child.stderr, isSecond);
  await lineOf(child.stdout, (line) => line === `default/web-${NODE_NAME}: Running`);
  touch(mayFail);
  await backsOff;
  child.kill('SIGTERM');
  const { code, stdout, stderr } = await result;
  expect(code).toBe(143);
  expect(table(stdout)).toEqual([
    HEADER,
    row('failing', '0/1', 'CrashLoopBackOff', '1', 'Interrupted', 'main'),
    row('web', '1/1', 'Running', '0', 'Running', '<none>'),
  ]);
  expect(stderr).toMatch(
    new RegExp(`left; these keep running: default/failing-${NODE_NAME}, default/web-${NODE_NAME}"`),
  );
});

describe('run-once refuses to run', () => {
  test('while a daemon runs in the root folder, whose pods keep running', async () => {
    write('web');
    const daemon = await bed.start();
    const pod = await daemon.running('web');
    const { code, stdout, stderr } = await run();
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`--root-dir ${bed.rootDir} is in use by another instance (pid ${daemon.pid})`);
    expect(mainProcesses(pod)).toHaveLength(1);
  });

  test.each([
    ['no source', [], '--pod-manifest-path or --manifest-url'],
    ['an unknown flag', ['--exit-with-pods'], "unknown option '--exit-with-pods'"],
    ['a retry count that is not a number', ['--max-retries', 'many'], '--max-retries'],
    ['a delay without unit', ['--retry-delay', '5'], '--retry-delay'],
    ['another output', ['-o', 'yaml'], 'Allowed choices are json'],
  ])('with %s', async (_, flags, message) => {
    const { code, stdout, stderr } = await statelet('run-once', '--root-dir', bed.rootDir, ...flags);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
  });
});
