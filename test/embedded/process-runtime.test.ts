import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDirectory, socketPath } from '../../src/embedded/monitor/monitor-socket.ts';
import type { RuntimeService } from '../../src/agent/runtime/service/runtime-service.ts';
import type { ContainerConfig } from '../../src/types/cri.ts';
import { logLines, processRuntimeBed, type ProcessRuntimeBed } from '../support/process-runtime.ts';
import { podConfig, shell, startPod, whenExited } from '../support/runtime-configs.ts';
import { waitFor } from '../support/wait-for.ts';
import { streamingOf } from '../support/stream-bed.ts';
import { runtimeContract } from '../agent/runtime/runtime-contract.ts';
import { streamingContract } from '../agent/runtime/streaming-contract.ts';

runtimeContract('the embedded runtime', () => Promise.resolve(processRuntimeBed()));
streamingContract('the embedded runtime', () => Promise.resolve(processRuntimeBed()));

describe('the embedded runtime', () => {
  let bed: ProcessRuntimeBed;
  let runtime: RuntimeService;
  let logsDir: string;

  beforeAll(() => {
    bed = processRuntimeBed();
    ({ runtime } = bed);
    logsDir = join(bed.rootDir, 'pods');
  });

  afterAll(() => bed.cleanup());

  const start = (config: ContainerConfig) => startPod(runtime, logsDir, config);

  test('counts what a container uses: memory, time and processes', async () => {
    const { id, logFile } = await start(
      shell('i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo; sleep 1000'),
    );
    await waitFor(() => logLines(logFile).length === 1, { what: 'the end of the loop' });
    const countsTwo = async () => (await runtime.listContainerStats({ id }))[0]?.processCount === 2;
    await waitFor(countsTwo, { what: 'shell and sleep to be counted' });
    const [stats] = await runtime.listContainerStats({ id });
    expect(stats?.memory?.rssBytes).toBeGreaterThan(100_000);
    expect(stats?.cpu?.usageCoreNanoSeconds).toBeGreaterThan(0);
  });

  test('has no file system of images', async () => {
    expect(await bed.runtime.imageFsInfo()).toEqual([]);
  });

  test('gives a pod no address of its own, and the network mode that it asked for', async () => {
    const namespaceOptions = { network: 'NODE', pid: 'CONTAINER', ipc: 'POD' } as const;
    const linux = { securityContext: { namespaceOptions } };
    const id = await runtime.runPodSandbox(podConfig(logsDir, { linux }));
    const status = await runtime.podSandboxStatus(id);
    expect([status.networkMode, status.network]).toEqual(['NODE', undefined]);
  });

  test('removes the folders of a pod with its sandbox, but not its logs', async () => {
    const { sandboxId, id, logFile } = await start(shell('echo text'));
    await whenExited(runtime, id);
    await runtime.removePodSandbox(sandboxId);
    expect(existsSync(join(bed.rootDir, 'scratch', sandboxId))).toBe(false);
    expect(existsSync(join(bed.rootDir, 'runtime', 'containers', id))).toBe(false);
    expect(existsSync(logFile)).toBe(true);
  });
});

describe('a monitor of an older version', () => {
  let dir: string;
  let server: Server;
  let runtime: RuntimeService;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'statelet-'));
    mkdirSync(join(dir, 'runtime'));
    server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.write('{"hello":"statelet-monitor","protocol":1,"pid":12345}\n');
      socket.on('data', () => socket.write('{"id":1,"result":"made"}\n'));
    });
    server.listen(socketPath(openDirectory(join(dir, 'runtime'))));
    await once(server, 'listening');
    ({ runtime } = processRuntimeBed(dir));
  });

  afterAll(async () => {
    await runtime.close();
    server.close();
    await once(server, 'close');
    rmSync(dir, { recursive: true });
  });

  test('gets no container that it would start with more privileges than requested', async () => {
    const linux = { securityContext: { noNewPrivs: true } };
    await expect(
      runtime.createContainer('any', shell('true', { linux }), podConfig(dir)),
    ).rejects.toMatchObject({
      kind: 'FailedPrecondition',
      message: expect.stringContaining('an older version'),
    });
  });

  test('runs no command with streams', async () => {
    const streams = { stdin: false, stdout: true, stderr: true, tty: false };
    const streaming = streamingOf(runtime);
    for (const call of [
      streaming.exec({ containerId: 'any', command: ['ls'], ...streams }),
      streaming.attach({ containerId: 'any', ...streams }),
    ]) {
      await expect(call).rejects.toMatchObject({
        kind: 'FailedPrecondition',
        message: expect.stringContaining('an older version'),
      });
    }
  });

  test('gets all other containers', async () => {
    expect(await runtime.createContainer('any', shell('true'), podConfig(dir))).toBe('made');
  });
});
