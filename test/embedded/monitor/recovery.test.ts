import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Finding } from '../../../src/embedded/monitor/findings.ts';
import type { RuntimeService } from '../../../src/agent/runtime/service/runtime-service.ts';
import { lockFile } from '../../../src/system/file-lock.ts';
import type { ContainerConfig } from '../../../src/types/cri.ts';
import {
  isRunning,
  kill9,
  monitorPid,
  processRuntimeBed,
  type ProcessRuntimeBed,
} from '../../support/process-runtime.ts';
import { shell, startPod, whenExited } from '../../support/runtime-configs.ts';
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

describe('when the monitor is killed, and a record cannot be used afterwards', () => {
  const LABELS = {
    'io.kubernetes.pod.name': 'pod',
    'io.kubernetes.pod.namespace': 'default',
    'io.kubernetes.pod.uid': 'uid-1',
  };
  const METADATA = { name: 'pod', namespace: 'default', uid: 'uid-1', attempt: 0 };
  const POD = { name: 'pod', namespace: 'default', uid: 'uid-1' };
  const runningShell = (script: string, more: Partial<ContainerConfig> = {}) =>
    startPod(runtime, join(rootDir, 'pods'), shell(script, { labels: LABELS, ...more }), {
      metadata: METADATA,
      labels: LABELS,
    });
  const copyOf = (id: string): string => join(rootDir, 'runtime', 'containers', id, 'begun.json');
  const sandboxFile = (id: string): string => join(rootDir, 'runtime', 'sandboxes', `${id}.json`);
  const sandboxCopy = (id: string): string => join(rootDir, 'runtime', 'begun', `${id}.json`);
  const cutOff = (...files: string[]) => files.forEach((file) => truncateSync(file, 30));

  /** The findings of the monitor that starts now, as soon as there are so many. */
  async function findings(count = 1): Promise<readonly Finding[]> {
    const found: Finding[] = [];
    const client = bed.connect({ onFinding: (finding) => found.push(finding) });
    await client.status();
    await waitFor(() => found.length >= count, { what: `${count} findings` });
    for (const { message } of found) expect(monitorLog()).toContain(message);
    return found;
  }

  test('a running container goes on: it is found by the id in its environment', async () => {
    const { id, logFile } = await runningShell('echo pid $$; sleep 1000');
    const pid = Number(await said(logFile, 'pid'));
    const before = await runtime.containerStatus(id);
    await killMonitor();
    cutOff(stateFile(id));

    const [finding] = await findings();
    expect(finding).toMatchObject({ pod: POD, container: 'main' });
    expect(finding?.message).toContain(
      `${stateFile(id)} is no JSON): process ${pid} was found by its environment`,
    );
    const after = await runtime.containerStatus(id);
    const { startedAt } = after;
    expect(after).toEqual({ ...before, startedAt });
    // By the process, which the system dates to a hundredth of a second.
    expect(startedAt).toBeGreaterThan(before.createdAt - 2e7);
    expect(startedAt).toBeLessThan(Date.now() * 1e6);
    expect(isRunning(pid)).toBe(true);
    // The record is good again: the next monitor has nothing to say.
    await killMonitor();
    await runtime.stopContainer(id, 1000);
    expect(isRunning(pid)).toBe(false);
    expect(await whenExited(runtime, id)).toMatchObject({ exitCode: 255 });
    expect(monitorLog().match(/cannot be used/g)).toHaveLength(1);
  });

  test('its commands are not taken for the container, also if it has closed its output', async () => {
    const { id, sandboxId } = await runningShell('exec >/dev/null 2>&1; echo $$ > pid; sleep 1000');
    const pidFile = join(rootDir, 'scratch', sandboxId, 'work', 'pid');
    const pid = Number(await waitFor(() => read(pidFile).trim() || undefined, { what: 'its pid' }));
    const command = runtime.execSync(id, ['sh', '-c', 'echo > began; sleep 1000'], 0).catch(() => undefined);
    await waitFor(() => existsSync(join(pidFile, '..', 'began')), { what: 'the command' });
    await killMonitor();
    cutOff(stateFile(id));
    const [finding] = await findings();
    expect(finding?.message).toContain(`process ${pid} was found`);
    await runtime.stopContainer(id, 0);
    await command;
  });

  test('a container with a terminal goes on', async () => {
    const { id, sandboxId } = await runningShell('echo $$ > pid; sleep 1000', { tty: true });
    const pidFile = join(rootDir, 'scratch', sandboxId, 'work', 'pid');
    const pid = Number(await waitFor(() => read(pidFile).trim() || undefined, { what: 'its pid' }));
    await killMonitor();
    cutOff(stateFile(id));
    const [finding] = await findings();
    expect(finding?.message).toContain(`process ${pid} was found`);
    expect((await runtime.containerStatus(id)).state).toBe('CONTAINER_RUNNING');
  });

  test('a container that has ended counts as ended, and what it has left behind is killed', async () => {
    const { id, logFile } = await runningShell('sleep 1000 & echo child $!; echo pid $$; wait');
    const child = Number(await said(logFile, 'child'));
    const pid = Number(await said(logFile, 'pid'));
    await killMonitor();
    await kill9(pid);
    writeFileSync(stateFile(id), '');
    const [finding] = await findings();
    expect(finding).toMatchObject({ pod: POD, container: 'main' });
    expect(finding?.message).toContain('no main process of it was found, so it counts as ended');
    expect(await whenExited(runtime, id)).toMatchObject({ exitCode: 255, reason: 'Unknown' });
    expect(isRunning(child)).toBe(false);
  });

  test('an earlier version had made no copies: the next monitor makes them', async () => {
    const { id, sandboxId, logFile } = await runningShell('echo pid $$; sleep 1000');
    const pid = Number(await said(logFile, 'pid'));
    for (const file of [copyOf(id), sandboxCopy(sandboxId)]) rmSync(file);
    await killMonitor();
    await runtime.status();
    await killMonitor();
    cutOff(stateFile(id), sandboxFile(sandboxId));
    const found = await findings(2);
    expect(found.map(({ pod }) => pod)).toEqual([POD, POD]);
    expect((await runtime.podSandboxStatus(sandboxId)).state).toBe('SANDBOX_READY');
    expect(isRunning(pid)).toBe(true);
  });

  test('without a copy the container is ended before anything can be started, and forgotten', async () => {
    const { id, logFile } = await runningShell(
      'trap "" TERM; setsid sleep 1000 & echo child $!; echo pid $$; wait',
    );
    const pids = [Number(await said(logFile, 'child')), Number(await said(logFile, 'pid'))];
    await killMonitor();
    cutOff(stateFile(id), copyOf(id));
    const [finding] = await findings();
    expect(pids.map(isRunning)).toEqual([false, false]);
    expect(finding).toMatchObject({ pod: POD });
    expect(finding?.message).toContain(`The record of container ${id} cannot be used`);
    expect(finding?.message).toContain('are killed, and the pod starts it again');
    expect(await runtime.listContainers()).toEqual([]);
    await waitFor(() => !existsSync(join(stateFile(id), '..')), { what: 'its folder to go' });
  });

  test('a container whose folder is gone is ended all the same', async () => {
    const { id, sandboxId, logFile } = await runningShell('echo pid $$; sleep 1000');
    const pid = Number(await said(logFile, 'pid'));
    await killMonitor();
    rmSync(join(stateFile(id), '..'), { recursive: true });
    const [finding] = await findings();
    expect(isRunning(pid)).toBe(false);
    expect(finding).toMatchObject({ pod: POD });
    expect(finding?.message).toContain(`The record of container ${id}`);
    expect((await runtime.podSandboxStatus(sandboxId)).state).toBe('SANDBOX_READY');
  });

  test('a sandbox is restored from its copy, and its containers go on', async () => {
    const { id, sandboxId, logFile } = await runningShell('echo pid $$; sleep 1000');
    const pid = Number(await said(logFile, 'pid'));
    const before = [await runtime.podSandboxStatus(sandboxId), await runtime.containerStatus(id)];
    await killMonitor();
    writeFileSync(sandboxFile(sandboxId), '[]');
    const [finding] = await findings();
    expect(finding).toMatchObject({ pod: POD });
    expect(finding?.message).toContain('it was restored from the copy');
    expect([await runtime.podSandboxStatus(sandboxId), await runtime.containerStatus(id)]).toEqual(before);
    expect(isRunning(pid)).toBe(true);
  });

  test.each([
    ['cannot be read', (...files: string[]) => cutOff(...files)],
    ['is gone', (...files: string[]) => files.forEach((file) => rmSync(file))],
  ])(
    'a sandbox whose record %s, and its copy, is not ready; its containers can be stopped',
    async (_how, damage) => {
      const { id, sandboxId, logFile } = await runningShell('echo pid $$; sleep 1000');
      const pid = Number(await said(logFile, 'pid'));
      await killMonitor();
      damage(sandboxFile(sandboxId), sandboxCopy(sandboxId));
      const [finding] = await findings();
      expect(finding).toMatchObject({ pod: POD });
      expect(finding?.message).toContain('its containers end, and the pod gets a new sandbox');
      expect(await runtime.podSandboxStatus(sandboxId)).toMatchObject({
        state: 'SANDBOX_NOTREADY',
        metadata: METADATA,
        labels: LABELS,
      });
      expect(await runtime.containerStatus(id)).toMatchObject({ state: 'CONTAINER_RUNNING', logPath: '' });
      await runtime.removePodSandbox(sandboxId);
      expect(isRunning(pid)).toBe(false);
      expect(await runtime.listPodSandbox()).toEqual([]);
    },
  );

  test.each([
    ['a folder', (file: string) => mkdirSync(join(file, 'below'), { recursive: true })],
    ['a named pipe', (file: string) => execFileSync('mkfifo', [file])],
    ['a link that leads nowhere', (file: string) => symlinkSync('/nowhere', file)],
  ])('%s in place of the lock is replaced', async (_what, put) => {
    await runtime.status();
    const lock = join(rootDir, 'runtime', 'monitor.lock');
    await killMonitor();
    rmSync(lock);
    put(lock);
    const [finding] = await findings();
    expect(finding?.message).toContain(
      'The lock of the embedded runtime could not be used and was made anew',
    );
    expect(lockFile(lock)).toEqual({ holder: await monitorPid(rootDir) });
  });

  test('pipes and folders in place of its log and its socket do not keep the next monitor from starting', async () => {
    await runtime.status();
    const [log, socket] = [join(rootDir, 'runtime', 'monitor.log'), join(rootDir, 'runtime', 'monitor.sock')];
    await killMonitor();
    for (const file of [log, socket]) rmSync(file);
    execFileSync('mkfifo', [log]);
    mkdirSync(join(socket, 'below'), { recursive: true });
    expect((await bed.connect().status()).conditions).toHaveLength(2);
  });
});

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}
