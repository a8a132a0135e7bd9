import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectSocket } from '../../../../src/runtime/process/monitor/monitor-socket.ts';
import type { RuntimeService } from '../../../../src/runtime/service/runtime-service.ts';
import type { ContainerConfig } from '../../../../src/types/cri.ts';
import { mountSmallDisk, testAsRoot } from '../../../support/as-root.ts';
import { holdStill } from '../../../support/hold-still.ts';
import { kill9, monitorPid, processRuntimeBed } from '../../../support/process-runtime.ts';
import type { ProcessRuntimeBed } from '../../../support/process-runtime.ts';
import { podConfig, shell, startPod } from '../../../support/runtime-configs.ts';
import { waitFor } from '../../../support/wait-for.ts';

let bed: ProcessRuntimeBed;
let runtime: RuntimeService;
let rootDir: string;

beforeEach(() => {
  bed = processRuntimeBed();
  ({ runtime, rootDir } = bed);
});

afterEach(() => bed.cleanup());

const start = (config: ContainerConfig) => startPod(runtime, join(rootDir, 'pods'), config);
const read = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');
const monitorLog = (): string => read(join(rootDir, 'runtime', 'monitor.log'));
const starts = (): number => monitorLog().match(/started as process/g)?.length ?? 0;

describe('a monitor that hangs', () => {
  let pid: number;
  beforeEach(async () => {
    await runtime.status();
    pid = await monitorPid(rootDir);
  });
  afterEach(() => {
    process.kill(pid, 'SIGCONT');
  });

  test('is DeadlineExceeded after the limit of a call; it is asked on when it goes on', async () => {
    const { id } = await start(shell('sleep 1000'));
    const impatient = bed.connect({ requestTimeoutMs: 2000 });
    await impatient.status();
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
      expect(impatient.execSync(id, ['true'], 1)).rejects.toMatchObject(error('execSync', 3)),
    ]);
    const unlimited = impatient.execSync(id, ['echo', 'here'], 0);
    process.kill(pid, 'SIGCONT');
    expect((await unlimited).stdout.toString()).toBe('here\n');
    // What was asked for has been done meanwhile.
    await waitFor(async () => (await runtime.containerStatus(id)).state === 'CONTAINER_EXITED', {
      what: 'the end of the container',
    });
  });

  test('is known to one who comes anew as well, and no other is started for it', async () => {
    await holdStill(pid);
    await expect(bed.connect().status()).rejects.toMatchObject({
      kind: 'DeadlineExceeded',
      message: expect.stringContaining('has not answered the connection within 5 s'),
    });
    expect(starts()).toBe(1);
  });
});

describe('a monitor with too many clients', () => {
  test('has a bound on its connections, and room again when others go', async () => {
    await runtime.status();
    const sockets = await Promise.all(
      Array.from({ length: 100 }, () => connectSocket(join(rootDir, 'runtime'))),
    );
    for (const socket of sockets) socket.on('error', () => undefined).resume();
    await waitFor(() => sockets.filter(({ closed }) => closed).length === 37, { what: 'the bound' });
    expect((await runtime.status()).conditions).toHaveLength(2);
    for (const socket of sockets) socket.destroy();
    const other = bed.connect();
    await waitFor(() => other.status().catch(() => undefined), { what: 'room' });
    expect(starts()).toBe(1);
  });
});

describe('on a full disk', () => {
  testAsRoot('containers are stopped and removed, and no file is left half-written', async () => {
    const disk = mountSmallDisk(rootDir);
    const small = processRuntimeBed(join(disk.path, 'root'));
    try {
      const { id, sandboxId } = await startPod(small.runtime, join(rootDir, 'pods'), shell('sleep 1000'));
      const runtimeDir = join(small.rootDir, 'runtime');
      // A monitor that is started on the full disk does the same.
      await kill9(await monitorPid(small.rootDir));
      disk.fill();
      await small.runtime.status();
      await expect(small.runtime.runPodSandbox(podConfig(small.rootDir))).rejects.toThrow('ENOSPC');
      await small.runtime.stopContainer(id, 0);
      expect((await small.runtime.containerStatus(id)).exitCode).toBe(255);
      await small.runtime.stopPodSandbox(sandboxId);
      expect((await small.runtime.podSandboxStatus(sandboxId)).state).toBe('SANDBOX_NOTREADY');
      const files = readdirSync(runtimeDir, { recursive: true, encoding: 'utf8' });
      expect(files.filter((file) => file.endsWith('.tmp'))).toEqual([]);
      await small.runtime.removePodSandbox(sandboxId);
      expect(await small.runtime.listPodSandbox()).toEqual([]);
      expect(readdirSync(join(runtimeDir, 'sandboxes'))).toEqual([]);
      expect(readdirSync(join(runtimeDir, 'containers'))).toEqual([]);
    } finally {
      await small.cleanup();
      disk.unmount();
    }
  });
});
