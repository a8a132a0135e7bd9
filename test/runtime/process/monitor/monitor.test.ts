import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { filter, firstValueFrom } from 'rxjs';
import { lockFile } from '../../../../src/system/file-lock.ts';
import { openDirectory, socketPath } from '../../../../src/runtime/process/monitor/monitor-socket.ts';
import type { RuntimeService } from '../../../../src/runtime/service/runtime-service.ts';
import type { ContainerConfig } from '../../../../src/types/cri.ts';
import { isRunning, kill9, monitorPid, processRuntimeBed } from '../../../support/process-runtime.ts';
import type { ProcessRuntimeBed } from '../../../support/process-runtime.ts';
import { podConfig, shell, startPod, whenExited } from '../../../support/runtime-configs.ts';
import { waitFor } from '../../../support/wait-for.ts';

const CLIENT = fileURLToPath(new URL('../../../support/runtime-client.ts', import.meta.url));

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

const killMonitor = async (): Promise<void> => kill9(await monitorPid(rootDir));

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

const openFiles = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return 'closed meanwhile';
    }
  });

const named = (name: string, script: string): ContainerConfig =>
  shell(script, { metadata: { name, attempt: 0 }, logPath: `${name}.log` });

describe('when the agent is killed (kill -9)', () => {
  test('its containers run on, and the next one finds them with the exit codes of those that ended meanwhile', async () => {
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

  test('and Ctrl-C in its terminal ends neither monitor nor containers', async () => {
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

describe('when the monitor is killed (kill -9)', () => {
  test('its containers run on and are adopted: state, log, commands and stop', async () => {
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

  test('a container that writes meanwhile waits for the next one instead of dying', async () => {
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

  test('a container that ends meanwhile leaves nothing behind', async () => {
    const { id, logFile } = await start(shell('sleep 1000 & echo child $!; echo pid $$; wait'));
    const child = Number(await said(logFile, 'child'));
    const pid = Number(await said(logFile, 'pid'));
    await killMonitor();
    await kill9(pid);
    expect(await whenExited(runtime, id)).toMatchObject({ exitCode: 255, reason: 'Unknown' });
    expect(isRunning(child)).toBe(false);
  });

  test('what had ended before keeps its exit code', async () => {
    const { id } = await start(shell('exit 9'));
    await whenExited(runtime, id);
    await killMonitor();
    expect(await runtime.containerStatus(id)).toMatchObject({ exitCode: 9, reason: 'Error' });
  });

  test('a container whose start could not be written down any more is found by its mark, not started twice', async () => {
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

  test('state of before a reboot is dead: no process is taken for a container', async () => {
    const { id, sandboxId, logFile } = await start(shell('echo pid $$; sleep 1000'));
    await said(logFile, 'pid');
    await killMonitor();
    for (const file of [stateFile(id), join(rootDir, 'runtime', 'sandboxes', `${sandboxId}.json`)]) {
      writeFileSync(file, read(file).replace(bootId(), 'another-boot'));
    }
    expect((await runtime.podSandboxStatus(sandboxId)).state).toBe('SANDBOX_NOTREADY');
    expect(await whenExited(runtime, id)).toMatchObject({ exitCode: 255, reason: 'Unknown' });
  });

  test('a container that it takes up gets SIGTERM for its main process alone, and all of it is killed after', async () => {
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

  test('another process that got the pid of a container is left alone', async () => {
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

  test('a state file that cannot be read is left out, and the others count', async () => {
    const [first, second] = [await start(shell('sleep 1000')), await start(shell('exit 4'))];
    await whenExited(runtime, second.id);
    await runtime.stopContainer(first.id, 0);
    await killMonitor();
    writeFileSync(stateFile(first.id), '{"half');
    expect((await runtime.listContainers()).map(({ id }) => id)).toEqual([second.id]);
    expect(monitorLog()).toContain('cannot be read');
  });

  test('half-written files of state are removed by the next one', async () => {
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

  test('who listens to events is connected again and told how things stand', async () => {
    const { id } = await start(shell('sleep 1000'));
    const again = firstValueFrom(runtime.containerEvents().pipe(filter((event) => event.containerId === id)));
    await runtime.status();
    await killMonitor();
    expect(await again).toMatchObject({ containerEventType: 'CONTAINER_STARTED_EVENT' });
    expect(starts()).toBe(2);
  });
});

describe('one monitor', () => {
  test('is started where no log of it can be written', async () => {
    mkdirSync(join(rootDir, 'runtime', 'monitor.log'), { recursive: true });
    expect((await runtime.status()).conditions).toHaveLength(2);
  });

  test('serves several clients that come at once, and they see the same pods', async () => {
    const clients = [runtime, ...Array.from({ length: 4 }, () => bed.connect())];
    const ids = await Promise.all(clients.map((client) => client.runPodSandbox(podConfig(rootDir))));
    for (const client of clients) {
      expect((await client.listPodSandbox()).map(({ id }) => id).sort()).toEqual([...ids].sort());
    }
    expect(starts()).toBe(1);
  });

  test('keeps descriptors of the shell that started its agent from containers and their commands, and has none', async () => {
    const prelude = `exec 3<${CLIENT} 9<${CLIENT} 17<${CLIENT} 63<${CLIENT} 200<${CLIENT} "$@"`;
    const main = named('main', 'echo pid $$; exec sleep 1000');
    const { ids, logDirectory, child } = await startClient([main], prelude);
    const pid = Number(await said(join(logDirectory, 'main.log'), 'pid'));
    const { stdout } = await runtime.execSync(ids[0]!, ['sh', '-c', 'readlink /proc/$$/fd/*'], 0);
    expect([openFiles(pid).length, stdout.toString().trimEnd().split('\n').length]).toEqual([3, 3]);
    expect(openFiles(child.pid!)).toContain(CLIENT);
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

  test('ends its containers in good order when it is told to end, and their exit codes are kept', async () => {
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

  test('kills its containers at once when it is told a second time', async () => {
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

  test('goes on at SIGUSR1, which opens no debugger, SIGUSR2 and SIGHUP', async () => {
    const { id } = await start(shell('sleep 1000'));
    const pid = await monitorPid(rootDir);
    for (const signal of ['SIGUSR1', 'SIGUSR2', 'SIGHUP'] as const) {
      process.kill(pid, signal);
      await waitFor(() => monitorLog().includes(`${signal} is ignored`), { what: `a line about ${signal}` });
    }
    expect((await runtime.containerStatus(id)).state).toBe('CONTAINER_RUNNING');
    expect(monitorLog()).not.toContain('Debugger listening');
  });

  test('ends, with its containers, when its folder is removed: nobody could reach them any more', async () => {
    const { logFile } = await start(shell('echo pid $$; sleep 1000'));
    const [container, monitor] = [Number(await said(logFile, 'pid')), await monitorPid(rootDir)];
    await runtime.close();
    await rm(join(rootDir, 'runtime'), { recursive: true });
    await waitFor(() => !isRunning(container) && !isRunning(monitor), { what: 'the end of both' });
  });

  test('makes its socket anew when that was tidied away', async () => {
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

  test('is one alone also among network namespaces, while it does not answer', async () => {
    await runtime.status();
    const pid = await monitorPid(rootDir);
    expect(lockFile(join(rootDir, 'runtime', 'monitor.lock'))).toEqual({ holder: pid });
  });

  test('lets nobody else in: folder 0700, socket 0600, state 0600', async () => {
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
  test('may be deeper than a socket address can say', async () => {
    const deep = join(rootDir, 'a'.repeat(100), 'b'.repeat(100));
    const deepBed = processRuntimeBed(deep);
    const { id } = await startPod(deepBed.runtime, join(deep, 'pods'), shell('exit 3'));
    expect((await whenExited(deepBed.runtime, id)).exitCode).toBe(3);
    await deepBed.cleanup();
  });

  test('that cannot be written to is named in the error', async () => {
    const file = join(rootDir, 'file');
    writeFileSync(file, '');
    const broken = processRuntimeBed(file);
    await expect(broken.runtime.status()).rejects.toThrow(file);
    await broken.runtime.close();
  });

  test('with a monitor of another version is a clear error that names its process', async () => {
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

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}
