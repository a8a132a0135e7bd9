import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { filter, firstValueFrom } from 'rxjs';
import { openDirectory, socketPath } from '../../../src/embedded/monitor/monitor-socket.ts';
import type { RuntimeService } from '../../../src/agent/runtime/service/runtime-service.ts';
import type { ContainerConfig } from '../../../src/types/cri.ts';
import { holdStill } from '../../support/hold-still.ts';
import {
  kill9,
  monitorPid,
  processRuntimeBed,
  type ProcessRuntimeBed,
} from '../../support/process-runtime.ts';
import { podConfig, shell, startPod } from '../../support/runtime-configs.ts';
import { waitFor } from '../../support/wait-for.ts';

let bed: ProcessRuntimeBed;
let runtime: RuntimeService;
let rootDir: string;

beforeEach(() => {
  bed = processRuntimeBed();
  ({ runtime, rootDir } = bed);
});

afterEach(() => bed.cleanup());

const start = (config: ContainerConfig) => startPod(runtime, join(rootDir, 'pods'), config);
const starts = (): number =>
  readFileSync(join(rootDir, 'runtime', 'monitor.log'), 'utf8').match(/started as process/g)?.length ?? 0;

describe('a monitor that hangs', () => {
  let pid: number;
  beforeEach(async () => {
    await runtime.status();
    pid = await monitorPid(rootDir);
  });
  afterEach(() => {
    process.kill(pid, 'SIGCONT');
  });

  test('is DeadlineExceeded after the time limit of a call, and carries the calls out once it goes on', async () => {
    const { id } = await start(shell('sleep 1000'));
    const { id: other } = await start(shell('sleep 1000'));
    const impatient = bed.connect({ requestTimeoutMs: 2000 });
    // It connects with a call that may take as long as a busy machine needs.
    await impatient.execSync(other, ['true'], 0);
    await holdStill(pid);
    const error = (what: string, seconds: number) => ({
      kind: 'DeadlineExceeded',
      message: expect.stringContaining(`has not answered ${what} within ${seconds} s: it hangs`),
    });
    await Promise.all([
      expect(impatient.listContainers()).rejects.toMatchObject(error('listContainers', 2)),
      expect(impatient.status()).rejects.toMatchObject(error('ping', 2)),
      expect(impatient.runPodSandbox(podConfig(rootDir))).rejects.toMatchObject(error('runPodSandbox', 4)),
      expect(impatient.stopContainer(id, 1)).rejects.toMatchObject(error('stopContainer', 3)),
      expect(impatient.execSync(other, ['true'], 1)).rejects.toMatchObject(error('execSync', 3)),
    ]);
    const unlimited = impatient.execSync(other, ['echo', 'here'], 0);
    process.kill(pid, 'SIGCONT');
    expect((await unlimited).stdout.toString()).toBe('here\n');
    // The stop was carried out as well.
    await waitFor(async () => (await runtime.containerStatus(id)).state === 'CONTAINER_EXITED', {
      what: 'the end of the container',
    });
  });

  test('is DeadlineExceeded for a client that connects, and no other monitor is started', async () => {
    await holdStill(pid);
    await expect(bed.connect().status()).rejects.toMatchObject({
      kind: 'DeadlineExceeded',
      message: expect.stringContaining('has not answered the connection within 5 s'),
    });
    expect(starts()).toBe(1);
  });
});

describe('a client of the monitor', () => {
  test('that has a subscriber is connected again, and has an event for every container', async () => {
    const { id } = await start(shell('sleep 1000'));
    const again = firstValueFrom(runtime.containerEvents().pipe(filter((event) => event.containerId === id)));
    await runtime.status();
    await kill9(await monitorPid(rootDir));
    expect(await again).toMatchObject({ containerEventType: 'CONTAINER_STARTED_EVENT' });
    expect(starts()).toBe(2);
  });

  test('repeats a harmless call when the monitor ends meanwhile, but creates nothing twice', async () => {
    const { id, sandboxId, sandbox } = await start(shell('sleep 1000'));
    const pid = await monitorPid(rootDir);
    await holdStill(pid);
    const second = shell('true', { metadata: { name: 'second', attempt: 0 } });
    const list = runtime.listContainers();
    const created = runtime.createContainer(sandboxId, second, sandbox);
    const outcomes = Promise.allSettled([list, created]);
    await kill9(pid);
    const [listed, creation] = await outcomes;
    expect(listed).toMatchObject({ status: 'fulfilled', value: [{ id }] });
    expect(creation).toMatchObject({ status: 'rejected', reason: { kind: 'Unavailable' } });
  });

  test('that cannot use its root directory fails with an error that names it, and starts no monitor', async () => {
    const file = join(rootDir, 'file');
    writeFileSync(file, '');
    const { runtime: client } = processRuntimeBed(file);
    await expect(client.status()).rejects.toMatchObject({
      kind: 'Internal',
      message: expect.stringContaining(file),
    });
    await client.close();
    // The cleanup of this test ends the monitor of its own root directory.
    await runtime.status();
  });

  test('that is closed makes no more calls', async () => {
    const client = bed.connect();
    await client.status();
    await client.close();
    await expect(client.status()).rejects.toMatchObject({ kind: 'FailedPrecondition' });
    expect((await runtime.status()).conditions).toHaveLength(2);
  });

  test('gets a clear error, with the process, from a monitor of another version', async () => {
    const other = mkdtempSync(join(tmpdir(), 'statelet-'));
    mkdirSync(join(other, 'runtime'));
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.write('{"hello":"statelet-monitor","protocol":0,"pid":12345}\n');
    });
    server.listen(socketPath(openDirectory(join(other, 'runtime'))));
    await once(server, 'listening');
    const { runtime: client } = processRuntimeBed(other);
    await expect(client.status()).rejects.toMatchObject({
      kind: 'FailedPrecondition',
      message: expect.stringMatching(/process 12345.*protocol 0.*another version/s),
    });
    await client.close();
    server.close();
    await once(server, 'close');
    expect(readdirSync(other)).toEqual(['runtime']);
    rmSync(other, { recursive: true });
  });
});
