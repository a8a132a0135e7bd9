import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RuntimeService } from '../../../../src/runtime/service/runtime-service.ts';
import type { ContainerConfig } from '../../../../src/types/cri.ts';
import {
  isRunning,
  kill9,
  monitorPid,
  processRuntimeBed,
  type ProcessRuntimeBed,
} from '../../../support/process-runtime.ts';
import { shell, startPod, whenExited } from '../../../support/runtime-configs.ts';
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
const stateFile = (id: string): string => join(rootDir, 'runtime', 'containers', id, 'state.json');

/** Waits for a line that says `<key> <value>` in a container's log. */
const said = (logFile: string, key: string): Promise<string> =>
  waitFor(() => new RegExp(` F ${key} (.*)$`, 'm').exec(read(logFile))?.[1], {
    what: `"${key}" in ${logFile}`,
  });

const killMonitor = async (): Promise<void> => kill9(await monitorPid(rootDir));

describe('when the monitor is killed', () => {
  test('its containers run on, and the next one adopts them: state, log, commands and stop', async () => {
    const script = 'echo pid $$; until [ -e go ]; do sleep 0.01; done; echo then more; sleep 1000';
    const { id, sandboxId, logFile } = await start(shell(script));
    const pid = Number(await said(logFile, 'pid'));
    await killMonitor();
    const work = join(rootDir, 'scratch', sandboxId, 'work');
    writeFileSync(join(work, 'go'), '');

    expect((await runtime.containerStatus(id)).state).toBe('CONTAINER_RUNNING');
    expect((await runtime.podSandboxStatus(sandboxId)).state).toBe('SANDBOX_READY');
    expect(await said(logFile, 'then')).toBe('more');
    expect((await runtime.execSync(id, ['pwd'], 0)).stdout.toString()).toBe(`${work}\n`);
    expect(isRunning(pid)).toBe(true);
    await runtime.stopContainer(id, 1000);
    expect(isRunning(pid)).toBe(false);
    expect((await runtime.containerStatus(id)).state).toBe('CONTAINER_EXITED');
  });

  test('a container that writes meanwhile waits for the next monitor, instead of getting SIGPIPE', async () => {
    const { id, logFile } = await start(
      shell('echo pid $$; until [ -e go ]; do sleep 0.01; done; seq 1 100000; echo end of; sleep 1000'),
    );
    await said(logFile, 'pid');
    const { podSandboxId } = await runtime.containerStatus(id);
    await killMonitor();
    writeFileSync(join(rootDir, 'scratch', podSandboxId, 'work', 'go'), '');
    await runtime.status();
    await waitFor(() => read(logFile).includes(' F end of'), { what: 'all that it wrote' });
    expect(read(logFile)).toContain(' F 100000\n');
  });

  test('a container that ends afterwards has an unknown exit code, 255', async () => {
    const { id, logFile } = await start(shell('echo pid $$; sleep 1000'));
    const pid = Number(await said(logFile, 'pid'));
    await killMonitor();
    await runtime.status();
    process.kill(pid, 'SIGKILL');
    const status = await whenExited(runtime, id);
    expect(status).toMatchObject({ exitCode: 255, reason: 'Unknown' });
    expect(status.message).toContain('exit code is not known');
    expect(status.finishedAt).toBeGreaterThan(status.startedAt);
  });

  test('a container that ends meanwhile leaves no processes behind', async () => {
    const { id, logFile } = await start(shell('sleep 1000 & echo child $!; echo pid $$; wait'));
    const child = Number(await said(logFile, 'child'));
    const pid = Number(await said(logFile, 'pid'));
    await killMonitor();
    await kill9(pid);
    expect(await whenExited(runtime, id)).toMatchObject({ exitCode: 255, reason: 'Unknown' });
    expect(isRunning(child)).toBe(false);
  });

  test('a container that had ended before keeps its exit code', async () => {
    const { id } = await start(shell('exit 9'));
    await whenExited(runtime, id);
    await killMonitor();
    expect(await runtime.containerStatus(id)).toMatchObject({ exitCode: 9, reason: 'Error' });
  });

  test('a container whose start was not recorded is found by the id in its environment, and not started twice', async () => {
    const { id, logFile } = await start(shell('echo pid $$; sleep 1000'));
    const pid = Number(await said(logFile, 'pid'));
    await killMonitor();
    const stored = JSON.parse(read(stateFile(id))) as { record: object };
    const record = { ...stored.record, state: 'CONTAINER_CREATED', startedAt: 0, process: undefined };
    writeFileSync(stateFile(id), JSON.stringify({ bootId: bootId(), record }));

    await expect(bed.connect().startContainer(id)).rejects.toMatchObject({ kind: 'FailedPrecondition' });
    expect((await runtime.containerStatus(id)).startedAt).toBeGreaterThan(0);
    await runtime.stopContainer(id, 1000);
    expect(isRunning(pid)).toBe(false);
  });

  test('after a reboot, no process is taken for a container', async () => {
    const { id, sandboxId, logFile } = await start(shell('echo pid $$; sleep 1000'));
    await said(logFile, 'pid');
    await killMonitor();
    for (const file of [stateFile(id), join(rootDir, 'runtime', 'sandboxes', `${sandboxId}.json`)]) {
      writeFileSync(file, read(file).replace(bootId(), 'another-boot'));
    }
    expect((await runtime.podSandboxStatus(sandboxId)).state).toBe('SANDBOX_NOTREADY');
    expect(await whenExited(runtime, id)).toMatchObject({ exitCode: 255, reason: 'Unknown' });
  });

  test('an adopted container gets SIGTERM for its main process alone; after its end the other processes are killed', async () => {
    const child = 'sh -c \'trap "echo child term" TERM; echo child $$; while :; do sleep 1; done\'';
    const { id, logFile } = await start(
      shell(`${child} & trap 'echo main term; exit' TERM; echo main $$; wait`),
    );
    const pids = [Number(await said(logFile, 'child')), Number(await said(logFile, 'main'))];
    await killMonitor();
    await runtime.stopContainer(id, 1000);
    expect(pids.map(isRunning)).toEqual([false, false]);
    expect(read(logFile)).toContain(' F main term');
    expect(read(logFile)).not.toContain(' F child term');
  });

  test('another process that has got the pid of a container is not killed', async () => {
    const { id, logFile } = await start(shell('echo pid $$; sleep 1000'));
    const pid = Number(await said(logFile, 'pid'));
    await killMonitor();
    await kill9(pid);
    const stranger = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
    await once(stranger, 'spawn');
    writeFileSync(stateFile(id), read(stateFile(id)).replace(`"pid":${pid}`, `"pid":${stranger.pid ?? 0}`));
    expect(await whenExited(runtime, id)).toMatchObject({ exitCode: 255, reason: 'Unknown' });
    expect(isRunning(stranger.pid!)).toBe(true);
    stranger.kill('SIGKILL');
  });

  test('a state file that cannot be read is left out; the other containers are there', async () => {
    const [first, second] = [await start(shell('sleep 1000')), await start(shell('exit 4'))];
    await whenExited(runtime, second.id);
    await runtime.stopContainer(first.id, 0);
    await killMonitor();
    writeFileSync(stateFile(first.id), '{"half');
    expect((await runtime.listContainers()).map(({ id }) => id)).toEqual([second.id]);
    expect(monitorLog()).toContain('cannot be read');
  });

  test('half-written state files are removed by the next monitor', async () => {
    const { id, sandboxId } = await start(shell('sleep 1000'));
    await killMonitor();
    const sandboxes = join(rootDir, 'runtime', 'sandboxes');
    const drafts = [
      `${stateFile(id)}.tmp`,
      join(sandboxes, `${sandboxId}.json.tmp`),
      join(sandboxes, 'gone.json.tmp'),
    ];
    for (const draft of drafts) writeFileSync(draft, '{"half');
    expect((await runtime.containerStatus(id)).state).toBe('CONTAINER_RUNNING');
    expect(drafts.filter((draft) => existsSync(draft))).toEqual([]);
    expect(readdirSync(sandboxes)).toEqual([`${sandboxId}.json`]);
  });
});

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}
