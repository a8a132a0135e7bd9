/** The CRI client on a real containerd. */
import { silentLogger } from '../../../support/silent-logger.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import { testContext } from '../../../support/test-context.ts';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Subscription } from 'rxjs';
import { createCriRuntime } from '../../../../src/agent/runtime/cri/cri-runtime.ts';
import type { RuntimeService } from '../../../../src/agent/runtime/service/runtime-service.ts';
import type { ContainerConfig, ContainerEvent, ContainerEventType } from '../../../../src/types/cri.ts';
import { type ContainerdBed, startContainerd } from '../../../support/containerd/containerd.ts';
import { describeWithContainerd, SET_UP_TIMEOUT_MS } from '../../../support/containerd/suite.ts';
import { podConfig, shell, startPod, whenExited } from '../../../support/runtime-configs.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { HOST_SANDBOX, hostContainer } from './support.ts';

const MESSAGE_PATH = 'io.kubernetes.container.terminationMessagePath';
const MESSAGE_POLICY = 'io.kubernetes.container.terminationMessagePolicy';

describeWithContainerd('a client of a real containerd', () => {
  let containerd: ContainerdBed;
  let runtime: RuntimeService;
  let subscription: Subscription | undefined;
  let heard: ContainerEvent[];
  let dir: string;
  const warnings: string[] = [];

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'statelet-cri-'));
    containerd = await startContainerd();
    const logger = {
      ...silentLogger,
      warn: (_fields: object, message: string) => void warnings.push(message),
    };
    runtime = createCriRuntime(testContext({ clock: systemClock, logger }), {
      endpoint: containerd.endpoint,
      requestTimeoutMs: 20_000,
    });
  }, SET_UP_TIMEOUT_MS);

  afterEach(() => subscription?.unsubscribe());

  afterAll(async () => {
    for (const { id } of await runtime.listPodSandbox()) await runtime.removePodSandbox(id);
    await runtime.close();
    await containerd.stop();
    rmSync(dir, { recursive: true });
  });

  const start = (script: string, more: Partial<ContainerConfig> = {}) =>
    startPod(runtime, dir, shell(script, { ...hostContainer(containerd.image), ...more }), HOST_SANDBOX);
  /** Containerd does not say from when on it tells a subscriber: things happen until one has been told. */
  async function listen(): Promise<void> {
    heard = [];
    subscription = runtime.containerEvents().subscribe((event) => void heard.push(event));
    const isTold = async () => {
      const id = await runtime.runPodSandbox(podConfig(dir, HOST_SANDBOX));
      await runtime.removePodSandbox(id);
      return heard.length > 0;
    };
    await waitFor(isTold, { what: 'the first event' });
  }
  const whenTold = (id: string, type: ContainerEventType) =>
    waitFor(() => heard.find((event) => event.containerId === id && event.containerEventType === type), {
      what: `${type} of ${id}`,
    });

  test('gets the end of a container as soon as containerd shows it', async () => {
    await listen();
    const { id, sandbox } = await start('sleep 0.3; exit 4');
    const { createdAt, podSandboxMetadata } = await whenTold(id, 'CONTAINER_STOPPED_EVENT');
    const status = await runtime.containerStatus(id);
    expect(status).toMatchObject({ state: 'CONTAINER_EXITED', exitCode: 4 });
    expect(createdAt).toBeGreaterThan(status.finishedAt);
    expect(podSandboxMetadata).toEqual(sandbox.metadata);
  });

  test('gets the end of a sandbox that was killed from outside', async () => {
    await listen();
    const { sandboxId } = await start('sleep 1000');
    await containerd.ctr('tasks', 'kill', '--signal', 'KILL', sandboxId);
    await whenTold(sandboxId, 'CONTAINER_STOPPED_EVENT');
    expect((await runtime.podSandboxStatus(sandboxId)).state).toBe('SANDBOX_NOTREADY');
  });

  test('gets the events of pods that another client has created', async () => {
    await listen();
    const other = createCriRuntime(testContext({ clock: systemClock }), {
      endpoint: containerd.endpoint,
      requestTimeoutMs: 20_000,
    });
    const config = podConfig(dir, HOST_SANDBOX);
    const id = await other.runPodSandbox(config);
    await other.close();
    const { podSandboxMetadata } = await whenTold(id, 'CONTAINER_STARTED_EVENT');
    expect(podSandboxMetadata).toEqual(config.metadata);
  });

  test('goes on after a restart of containerd, with ends during the restart and later ones', async () => {
    await listen();
    const first = await start('sleep 1000');
    const second = await start('sleep 1000');
    const tasks = await containerd.ctr('tasks', 'list');
    const pid = Number(new RegExp(`^${first.id}\\s+(\\d+)`, 'm').exec(tasks)?.[1]);
    await containerd.kill();
    await expect(runtime.version()).rejects.toMatchObject({
      kind: 'Unavailable',
      message: expect.stringContaining(containerd.endpoint),
    });
    process.kill(pid, 'SIGKILL');
    await containerd.restart();
    await whenTold(first.id, 'CONTAINER_STOPPED_EVENT');
    await waitFor(() => runtime.version().catch(() => undefined), { what: 'the connection' });
    expect((await runtime.containerStatus(first.id)).state).toBe('CONTAINER_EXITED');
    expect((await runtime.containerStatus(second.id)).state).toBe('CONTAINER_RUNNING');
    await runtime.stopContainer(second.id, 5);
    await whenTold(second.id, 'CONTAINER_STOPPED_EVENT');
    expect(warnings).toEqual([]);
  });

  test('gets NotFound for a container that was listed and removed since', async () => {
    const { id, sandboxId } = await start('sleep 1000');
    const [listed] = await runtime.listContainers({ podSandboxId: sandboxId });
    expect(listed?.id).toBe(id);
    await runtime.removePodSandbox(sandboxId);
    await expect(runtime.containerStatus(id)).rejects.toMatchObject({ kind: 'NotFound' });
    await expect(runtime.podSandboxStatus(sandboxId)).rejects.toMatchObject({ kind: 'NotFound' });
    await runtime.stopContainer(id, 1);
    await runtime.removeContainer(id);
  });

  test('ends a call at its deadline when containerd hangs, and later calls work again', async () => {
    const hasty = createCriRuntime(testContext({ clock: systemClock }), {
      endpoint: containerd.endpoint,
      requestTimeoutMs: 200,
    });
    const answers = () => waitFor(() => hasty.version().catch(() => undefined), { what: 'an answer' });
    await answers();
    await containerd.pause();
    try {
      await expect(hasty.listContainers()).rejects.toMatchObject({ kind: 'DeadlineExceeded' });
    } finally {
      containerd.resume();
    }
    await answers();
    await hasty.close();
  });

  test('reads the end of the file with the termination message', async () => {
    const file = join(dir, 'message');
    writeFileSync(file, '');
    const { id } = await start('seq 1 2000 > /dev/termination-log; exit 1', {
      annotations: { [MESSAGE_PATH]: '/dev/termination-log' },
      mounts: [
        {
          containerPath: '/dev/termination-log',
          hostPath: file,
          readonly: false,
          propagation: 'PROPAGATION_PRIVATE',
        },
      ],
    });
    const { message, mounts } = await whenExited(runtime, id);
    expect(message).toBe(readFileSync(file, 'utf8').slice(-4096));
    expect(mounts?.map(({ hostPath }) => hostPath)).toEqual([file]);
  });

  test('takes the end of the log as the termination message of a failed container, if its policy says so', async () => {
    const annotations = { [MESSAGE_PATH]: '/dev/termination-log', [MESSAGE_POLICY]: 'FallbackToLogsOnError' };
    const messageOf = async (script: string) =>
      (await whenExited(runtime, (await start(script, { annotations })).id)).message;
    expect(await messageOf('echo why; exit 1')).toBe('why\n');
    expect(await messageOf('echo why')).toBe('');
  });

  test('lets a log go on in a new file after the old one was renamed', async () => {
    const { id, logFile } = await start('while :; do echo line; sleep 0.05; done');
    await waitFor(() => readFileSync(logFile, 'utf8') !== '', { what: 'a line' });
    rmSync(logFile);
    await runtime.reopenContainerLog(id);
    await waitFor(() => readFileSync(logFile, 'utf8') !== '', { what: 'a line in the new file' });
    await runtime.stopContainer(id, 0);
    await expect(runtime.reopenContainerLog(id)).rejects.toMatchObject({ kind: 'FailedPrecondition' });
  });

  test('keeps for a container that has not started what it is to have then', async () => {
    const sandbox = podConfig(dir, HOST_SANDBOX);
    const sandboxId = await runtime.runPodSandbox(sandbox);
    const config = shell('grep Cpus_allowed_list /proc/self/status', hostContainer(containerd.image));
    const id = await runtime.createContainer(sandboxId, config, sandbox);
    await runtime.resizing?.updateContainerResources(id, {
      cpusetCpus: '0',
      cpuPeriod: 0,
      cpuQuota: 0,
      cpuShares: 0,
      memoryLimitInBytes: 0,
      oomScoreAdj: 0,
    });
    await runtime.startContainer(id);
    await whenExited(runtime, id);
    expect(readFileSync(join(sandbox.logDirectory, config.logPath), 'utf8')).toMatch(
      /Cpus_allowed_list:\t0\n/u,
    );
  });

  test('knows images by name and by id, and how much disk they use', async () => {
    const image = await runtime.imageStatus(containerd.image);
    expect(image?.repoTags).toContain(containerd.image);
    expect(image?.size).toBeGreaterThan(500_000);
    expect(await runtime.imageStatus(image?.id ?? '')).toEqual(image);
    expect((await runtime.listImages()).map(({ id }) => id)).toContain(image?.id);
    expect(await runtime.imageStatus('statelet.test/none:1')).toBeUndefined();
    await runtime.removeImage('statelet.test/none:1');
    const [usage] = await runtime.imageFsInfo();
    expect(usage?.mountpoint).toContain(containerd.dir);
    expect(usage?.timestamp).toBeGreaterThan(0);
  });

  test('knows the network of a sandbox and its address', async () => {
    const host = await runtime.podSandboxStatus(await runtime.runPodSandbox(podConfig(dir, HOST_SANDBOX)));
    expect([host.networkMode, host.network?.ip]).toEqual(['NODE', '']);
    const own = await runtime.podSandboxStatus(await runtime.runPodSandbox(podConfig(dir)));
    expect([own.networkMode, own.network?.ip]).toEqual([
      'POD',
      expect.stringMatching(/^\d+\.\d+\.\d+\.\d+$/),
    ]);
  });
});
