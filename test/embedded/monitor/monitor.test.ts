import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { lockFile } from '../../../src/system/file-lock.ts';
import type { RuntimeService } from '../../../src/agent/runtime/service/runtime-service.ts';
import type { ContainerConfig } from '../../../src/types/cri.ts';
import {
  isRunning,
  monitorPid,
  processRuntimeBed,
  type ProcessRuntimeBed,
} from '../../support/process-runtime.ts';
import { openFiles } from '../../support/held-open.ts';
import { podConfig, shell, startPod, whenExited } from '../../support/runtime-configs.ts';
import { waitFor } from '../../support/wait-for.ts';

const CLIENT = fileURLToPath(new URL('../../support/runtime-client.ts', import.meta.url));

let bed: ProcessRuntimeBed;
let runtime: RuntimeService;
let rootDir: string;

beforeEach(() => {
  bed = processRuntimeBed();
  ({ runtime, rootDir } = bed);
});

const clients: ChildProcess[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) client.kill('SIGKILL');
  await bed.cleanup();
});

const start = (config: ContainerConfig) => startPod(runtime, join(rootDir, 'pods'), config);
const read = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');
const monitorLog = (): string => read(join(rootDir, 'runtime', 'monitor.log'));
const starts = (): number => monitorLog().match(/started as process/g)?.length ?? 0;
const stateFile = (id: string): string => join(rootDir, 'runtime', 'containers', id, 'state.json');

/** Waits for a line that says `<key> <value>` in a container's log. */
const said = (logFile: string, key: string): Promise<string> =>
  waitFor(() => new RegExp(` F ${key} (.*)$`, 'm').exec(read(logFile))?.[1], {
    what: `"${key}" in ${logFile}`,
  });

interface ClientProcess {
  readonly child: ChildProcess;
  readonly sandboxId: string;
  readonly ids: readonly string[];
  readonly logDirectory: string;
}

/** Another process, leader of a group of its own, that runs a pod. */
async function startClient(
  configs: readonly ContainerConfig[],
  prelude = 'exec "$@"',
): Promise<ClientProcess> {
  const flags = ['--disable-warning=ExperimentalWarning', CLIENT, rootDir, JSON.stringify(configs)];
  const command = ['-c', prelude, 'bash', process.execPath, ...flags];
  const child = spawn('bash', command, { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  clients.push(child);
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { child, ...(JSON.parse(line) as Omit<ClientProcess, 'child'>) };
}

const named = (name: string, script: string): ContainerConfig =>
  shell(script, { metadata: { name, attempt: 0 }, logPath: `${name}.log` });

describe('when the agent is killed', () => {
  test('its containers run on, and the next agent gets the exit codes of those that have ended meanwhile', async () => {
    const client = await startClient([
      named('runs', 'echo pid $$; sleep 1000'),
      named('ends', 'until [ -e go ]; do sleep 0.01; done; exit 42'),
    ]);
    const [runs = '', ends = ''] = client.ids;
    const pid = Number(await said(join(client.logDirectory, 'runs.log'), 'pid'));
    const monitor = await monitorPid(rootDir);
    client.child.kill('SIGKILL');
    await once(client.child, 'exit');
    writeFileSync(join(rootDir, 'scratch', client.sandboxId, 'work', 'go'), '');

    expect((await whenExited(runtime, ends)).exitCode).toBe(42);
    expect((await runtime.containerStatus(runs)).state).toBe('CONTAINER_RUNNING');
    expect(isRunning(pid)).toBe(true);
    expect(await monitorPid(rootDir)).toBe(monitor);
    await runtime.stopContainer(runs, 1000);
    expect((await runtime.containerStatus(runs)).exitCode).toBe(143);
  });

  test('by Ctrl-C in its terminal, neither monitor nor containers end', async () => {
    const client = await startClient([named('main', 'echo pid $$; sleep 1000')]);
    const pid = Number(await said(join(client.logDirectory, 'main.log'), 'pid'));
    const monitor = await monitorPid(rootDir);
    // What a terminal does: the signal goes to the whole group.
    process.kill(-client.child.pid!, 'SIGINT');
    await once(client.child, 'exit');
    expect((await runtime.containerStatus(client.ids[0]!)).state).toBe('CONTAINER_RUNNING');
    expect([await monitorPid(rootDir), isRunning(pid)]).toEqual([monitor, true]);
  });
});

describe('the monitor', () => {
  test('serves several clients that connect at the same time, and they see the same pods', async () => {
    const clients = [runtime, ...Array.from({ length: 4 }, () => bed.connect())];
    const ids = await Promise.all(clients.map((client) => client.runPodSandbox(podConfig(rootDir))));
    for (const client of clients) {
      expect((await client.listPodSandbox()).map(({ id }) => id).sort()).toEqual([...ids].sort());
    }
    expect(starts()).toBe(1);
  });

  test('has no descriptors of the shell that started its agent, nor have containers and their commands', async () => {
    const prelude = `exec 3<${CLIENT} 9<${CLIENT} 17<${CLIENT} 63<${CLIENT} 200<${CLIENT} "$@"`;
    const main = named('main', 'echo pid $$; exec sleep 1000');
    const { ids, logDirectory, child } = await startClient([main], prelude);
    const pid = Number(await said(join(logDirectory, 'main.log'), 'pid'));
    const { stdout } = await runtime.execSync(ids[0]!, ['sh', '-c', 'readlink /proc/$$/fd/*'], 0);
    // While the program is loaded, it has the files of its libraries open.
    await waitFor(() => openFiles(pid).length === 3, { what: 'its three descriptors alone' });
    expect(stdout.toString().trimEnd().split('\n')).toHaveLength(3);
    expect(openFiles(child.pid)).toContain(CLIENT);
    expect(openFiles(await monitorPid(rootDir))).not.toContain(CLIENT);
  });

  test('is started by only one of several processes', async () => {
    const clients = await Promise.all([startClient([]), startClient([]), startClient([])]);
    expect((await runtime.listPodSandbox()).length).toBe(3);
    expect(starts()).toBe(1);
    for (const { child } of clients) child.kill('SIGKILL');
  });

  test('ends when it holds no ready sandbox and has no client', async () => {
    const { sandboxId } = await start(shell('sleep 1000'));
    await runtime.stopPodSandbox(sandboxId);
    const pid = await monitorPid(rootDir);
    await runtime.close();
    await waitFor(() => !isRunning(pid), { what: 'the end of the monitor' });
    expect((await bed.connect().listPodSandbox())[0]?.id).toBe(sandboxId);
  });

  test('ends its containers with a grace period on SIGTERM, and keeps their exit codes', async () => {
    const { id } = await start(shell('trap "exit 17" TERM; echo ready now; sleep 1000 & wait'));
    const { logPath } = await runtime.containerStatus(id);
    await said(logPath, 'ready');
    const pid = await monitorPid(rootDir);
    process.kill(pid, 'SIGHUP');
    expect((await runtime.containerStatus(id)).state).toBe('CONTAINER_RUNNING');
    process.kill(pid, 'SIGTERM');
    await waitFor(() => !isRunning(pid), { what: 'the end of the monitor' });
    expect(await runtime.containerStatus(id)).toMatchObject({ exitCode: 17, state: 'CONTAINER_EXITED' });
  });

  test('kills its containers at once on a second SIGTERM', async () => {
    const { id, logFile } = await start(shell("trap '' TERM; echo ready now; while :; do sleep 1; done"));
    await said(logFile, 'ready');
    const pid = await monitorPid(rootDir);
    process.kill(pid, 'SIGTERM');
    await waitFor(() => monitorLog().includes('ending: SIGTERM'), { what: 'the first signal' });
    process.kill(pid, 'SIGTERM');
    await waitFor(() => !isRunning(pid), { what: 'the end of the monitor' });
    expect((await runtime.containerStatus(id)).exitCode).toBe(137);
  });

  test('kills its containers at once on SIGQUIT, and keeps their exit codes', async () => {
    const { id, logFile } = await start(shell("trap '' TERM; echo ready now; while :; do sleep 1; done"));
    await said(logFile, 'ready');
    const pid = await monitorPid(rootDir);
    process.kill(pid, 'SIGQUIT');
    await waitFor(() => !isRunning(pid), { what: 'the end of the monitor' });
    expect((await runtime.containerStatus(id)).exitCode).toBe(137);
  });

  test('ignores SIGUSR1 (which opens no debugger), SIGUSR2 and SIGHUP', async () => {
    const { id } = await start(shell('sleep 1000'));
    const pid = await monitorPid(rootDir);
    for (const signal of ['SIGUSR1', 'SIGUSR2', 'SIGHUP'] as const) {
      process.kill(pid, signal);
      await waitFor(() => monitorLog().includes(`${signal} is ignored`), { what: `a line about ${signal}` });
    }
    expect((await runtime.containerStatus(id)).state).toBe('CONTAINER_RUNNING');
    expect(monitorLog()).not.toContain('Debugger listening');
  });

  test('ends, with its containers, when its folder is removed: no client could reach it any more', async () => {
    const { logFile } = await start(shell('echo pid $$; sleep 1000'));
    const [container, monitor] = [Number(await said(logFile, 'pid')), await monitorPid(rootDir)];
    await runtime.close();
    // Until it ends, the monitor may write into it.
    await rm(join(rootDir, 'runtime'), { recursive: true, maxRetries: 5 });
    await waitFor(() => !isRunning(container) && !isRunning(monitor), { what: 'the end of both' });
  });

  test('makes its socket file again if it was deleted', async () => {
    await runtime.status();
    const pid = await monitorPid(rootDir);
    rmSync(join(rootDir, 'runtime', 'monitor.sock'));
    expect((await bed.connect().status()).conditions).toHaveLength(2);
    expect(await monitorPid(rootDir)).toBe(pid);
  });

  test('is started although another user holds an abstract socket named after its folder', async () => {
    mkdirSync(join(rootDir, 'runtime'));
    const { dev, ino } = statSync(join(rootDir, 'runtime'), { bigint: true });
    const squatter = createServer().listen(`\0statelet-monitor-${dev}-${ino}`);
    await once(squatter, 'listening');
    expect((await runtime.status()).conditions).toHaveLength(2);
    squatter.close();
  });

  test('holds a lock on a file, which also counts in other network namespaces', async () => {
    await runtime.status();
    const pid = await monitorPid(rootDir);
    expect(lockFile(join(rootDir, 'runtime', 'monitor.lock'))).toEqual({ holder: pid });
  });

  test('gives no access to other users: folder 0700, socket 0600, state 0600', async () => {
    mkdirSync(join(rootDir, 'runtime'));
    chmodSync(join(rootDir, 'runtime'), 0o755);
    const { id } = await start(shell('sleep 1000'));
    const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);
    expect(mode(join(rootDir, 'runtime'))).toBe('700');
    expect(mode(join(rootDir, 'runtime', 'monitor.sock'))).toBe('600');
    expect(mode(stateFile(id))).toBe('600');
  });
});

describe('a root directory', () => {
  test('may be deeper than the address of a socket can be long', async () => {
    const deep = join(rootDir, 'a'.repeat(100), 'b'.repeat(100));
    const deepBed = processRuntimeBed(deep);
    const { id } = await startPod(deepBed.runtime, join(deep, 'pods'), shell('exit 3'));
    expect((await whenExited(deepBed.runtime, id)).exitCode).toBe(3);
    await deepBed.cleanup();
  });
});
