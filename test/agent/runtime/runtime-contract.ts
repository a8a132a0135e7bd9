import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ReplaySubject } from 'rxjs';
import type { RuntimeService } from '../../../src/agent/runtime/service/runtime-service.ts';
import type { ContainerConfig, ContainerEvent, PodSandboxConfig } from '../../../src/types/cri.ts';
import { containerConfig, podConfig, startPod, whenExited } from '../../support/runtime-configs.ts';
import { waitFor } from '../../support/wait-for.ts';

/** The commands of the contract: a runtime without real processes needs to know only these. */
export const CONTRACT_COMMANDS = {
  runForever: ['sleep', '1000'],
  succeed: ['sh', '-c', 'exit 0'],
  fail: ['sh', '-c', 'exit 3'],
  /** Writes `ready` to its standard output once it ignores SIGTERM. */
  ignoreTerm: ['sh', '-c', "trap '' TERM; echo ready; while :; do sleep 1; done"],
  /** On SIGTERM exits with the code of its child: 140 by the SIGUSR2 that it sends, 143 if the child has got SIGTERM as well. */
  askChild: [
    'sh',
    '-c',
    'sleep 1000 & child=$!; trap "kill -USR2 $child; wait $child; exit \\$?" TERM; echo ready; wait',
  ],
  missing: ['/no/such/program'],
  say: ['sh', '-c', 'echo out; echo err >&2; exit 7'],
} as const;

const C = CONTRACT_COMMANDS;
const kind = (name: string): object => expect.objectContaining({ kind: name });

export interface RuntimeBed {
  readonly runtime: RuntimeService;
  /** True for a runtime without real processes: its containers are ready as soon as they run. */
  readonly simulated?: true;
  /** What every sandbox of this runtime needs. No command may be process 1 of its namespace: SIGTERM has no default there. */
  readonly sandbox?: Partial<PodSandboxConfig>;
  /** What every container of this runtime needs. */
  readonly container?: Partial<ContainerConfig>;
  /** An image that can be pulled. */
  readonly image?: string;
  cleanup(): Promise<void>;
}

/** What every implementation of RuntimeService has to do. `setUpTimeoutMs`: how long `createRuntime` may take. */
export function runtimeContract(
  name: string,
  createRuntime: () => Promise<RuntimeBed>,
  setUpTimeoutMs?: number,
): void {
  describe(`${name} fulfils the contract of RuntimeService:`, () => {
    let logsDir: string;
    let bed: RuntimeBed;
    let runtime: RuntimeService;
    const podOf = (more: Partial<PodSandboxConfig> = {}) => podConfig(logsDir, { ...bed.sandbox, ...more });
    const containerOf = (command: readonly string[], more: Partial<ContainerConfig> = {}) =>
      containerConfig(command, { ...bed.container, ...more });
    const start = (config: ContainerConfig) => startPod(runtime, logsDir, config, bed.sandbox);
    const startReady = async (command: readonly string[]) => {
      const pod = await start(containerOf(command));
      if (bed.simulated) return pod;
      await waitFor(() => readFileSync(pod.logFile, 'utf8').includes('ready'), {
        what: 'the container to be ready',
      });
      return pod;
    };
    const startIgnoringTerm = () => startReady(C.ignoreTerm);

    beforeAll(async () => {
      logsDir = mkdtempSync(join(tmpdir(), 'statelet-logs-'));
      bed = await createRuntime();
      ({ runtime } = bed);
    }, setUpTimeoutMs);

    afterAll(async () => {
      await bed.cleanup();
      rmSync(logsDir, { recursive: true });
    });

    describe('the runtime', () => {
      test('says its name and version', async () => {
        const version = await runtime.version();
        expect(version.runtimeApiVersion).toBe('v1');
        expect(version.runtimeName).not.toBe('');
        expect(version.runtimeVersion).not.toBe('');
      });

      test('says that it and its network are ready', async () => {
        const { conditions } = await runtime.status();
        expect(conditions.map(({ type, status }) => [type, status]).sort()).toEqual([
          ['NetworkReady', true],
          ['RuntimeReady', true],
        ]);
      });

      test('answers with kind Canceled when a call is aborted before it begins', async () => {
        const signal = AbortSignal.abort();
        await expect(runtime.runPodSandbox(podOf(), { signal })).rejects.toEqual(kind('Canceled'));
      });

      test('answers with kind Canceled when a call is aborted meanwhile', async () => {
        const { id } = await startIgnoringTerm();
        const abort = new AbortController();
        const stopped = runtime.stopContainer(id, 1000, { signal: abort.signal });
        abort.abort();
        await expect(stopped).rejects.toEqual(kind('Canceled'));
        await runtime.stopContainer(id, 0);
      });
    });

    describe('a sandbox', () => {
      test('is ready once it runs, and keeps what it was given', async () => {
        const config = podOf({ labels: { a: 'b' }, annotations: { c: 'd' } });
        const id = await runtime.runPodSandbox(config);
        const status = await runtime.podSandboxStatus(id);
        const { metadata, labels, annotations } = config;
        expect(status).toMatchObject({ id, metadata, labels, annotations, state: 'SANDBOX_READY' });
        expect(status.createdAt).toBeGreaterThan(0);
      });

      test('is the only one of its metadata; the next attempt is another', async () => {
        const config = podOf();
        const first = await runtime.runPodSandbox(config);
        await expect(runtime.runPodSandbox(config)).rejects.toEqual(kind('AlreadyExists'));
        await runtime.stopPodSandbox(first);
        await expect(runtime.runPodSandbox(config)).rejects.toEqual(kind('AlreadyExists'));
        const next = { ...config, metadata: { ...config.metadata, attempt: 1 } };
        expect(await runtime.runPodSandbox(next)).not.toBe(first);
      });

      test('is found by id, state and labels', async () => {
        const config = podOf();
        const id = await runtime.runPodSandbox(config);
        const ids = async (filter: object) =>
          (await runtime.listPodSandbox({ labelSelector: config.labels, ...filter })).map(
            (found) => found.id,
          );
        expect(await ids({})).toEqual([id]);
        expect(await ids({ id })).toEqual([id]);
        expect(await ids({ id: 'another' })).toEqual([]);
        expect(await ids({ state: 'SANDBOX_NOTREADY' })).toEqual([]);
        await runtime.stopPodSandbox(id);
        expect(await ids({ state: 'SANDBOX_NOTREADY' })).toEqual([id]);
        expect(await ids({ labelSelector: { ...config.labels, more: 'labels' } })).toEqual([]);
      });

      test('that is stopped ends its containers and is not ready; a second stop changes nothing', async () => {
        const { sandboxId, id } = await start(containerOf(C.ignoreTerm));
        await runtime.stopPodSandbox(sandboxId);
        expect((await runtime.containerStatus(id)).state).toBe('CONTAINER_EXITED');
        await runtime.stopPodSandbox(sandboxId);
        expect((await runtime.podSandboxStatus(sandboxId)).state).toBe('SANDBOX_NOTREADY');
      });

      test('is removed with its containers', async () => {
        const { sandboxId, id } = await start(containerOf(C.runForever));
        await runtime.removePodSandbox(sandboxId);
        await expect(runtime.podSandboxStatus(sandboxId)).rejects.toEqual(kind('NotFound'));
        await expect(runtime.containerStatus(id)).rejects.toEqual(kind('NotFound'));
      });

      test('that is unknown can be stopped and removed, and has no status', async () => {
        await runtime.stopPodSandbox('unknown');
        await runtime.removePodSandbox('unknown');
        await expect(runtime.podSandboxStatus('unknown')).rejects.toEqual(kind('NotFound'));
      });
    });

    describe('a container', () => {
      test('is created, and keeps what it was given', async () => {
        const sandbox = podOf();
        const podSandboxId = await runtime.runPodSandbox(sandbox);
        const config = containerOf(C.runForever, { labels: { a: 'b' }, annotations: { c: 'd' } });
        const id = await runtime.createContainer(podSandboxId, config, sandbox);
        expect(await runtime.containerStatus(id)).toMatchObject({
          id,
          podSandboxId,
          state: 'CONTAINER_CREATED',
          metadata: config.metadata,
          labels: { a: 'b' },
          annotations: { c: 'd' },
          startedAt: 0,
          finishedAt: 0,
          logPath: join(sandbox.logDirectory, config.logPath),
        });
      });

      test('is the only one of its name and attempt in its sandbox', async () => {
        const { sandboxId, sandbox, id } = await start(containerOf(C.succeed));
        const create = (attempt: number) =>
          runtime.createContainer(
            sandboxId,
            containerOf(C.succeed, { metadata: { name: 'main', attempt } }),
            sandbox,
          );
        await expect(create(0)).rejects.toEqual(kind('AlreadyExists'));
        expect(await create(1)).not.toBe(id);
      });

      test('is not created in a sandbox that is unknown or not ready', async () => {
        const sandbox = podOf();
        const id = await runtime.runPodSandbox(sandbox);
        await runtime.stopPodSandbox(id);
        const create = (sandboxId: string) =>
          runtime.createContainer(sandboxId, containerOf(C.succeed), sandbox);
        await expect(create(id)).rejects.toEqual(kind('FailedPrecondition'));
        await expect(create('unknown')).rejects.toEqual(kind('NotFound'));
      });

      test('is found by id, sandbox, state and labels', async () => {
        const labels = { test: 'filters' };
        const { sandboxId, id } = await start(containerOf(C.runForever, { labels }));
        const ids = async (filter: object) =>
          (await runtime.listContainers(filter)).map((container) => container.id);
        expect(await ids({ id })).toEqual([id]);
        expect(await ids({ podSandboxId: sandboxId })).toEqual([id]);
        expect(await ids({ labelSelector: labels })).toEqual([id]);
        expect(await ids({ id, state: 'CONTAINER_RUNNING' })).toEqual([id]);
        expect(await ids({ id, state: 'CONTAINER_EXITED' })).toEqual([]);
        expect(await ids({ id, labelSelector: { test: 'others' } })).toEqual([]);
        expect(await ids({})).toContain(id);
      });

      test('has its mounts, and cannot write to those that are read-only', async () => {
        if (bed.simulated) return;
        const volume = join(logsDir, 'volume');
        mkdirSync(volume);
        const mount = (containerPath: string, readonly: boolean) =>
          ({ containerPath, hostPath: volume, readonly, propagation: 'PROPAGATION_PRIVATE' }) as const;
        const mounts = [mount('/statelet-test/written', false), mount('/statelet-test/read', true)];
        const script =
          'cd /statelet-test; echo text > written/file; cat read/file; touch read/other && exit 1; exit 5';
        const { id, logFile } = await start(containerOf(['sh', '-c', script], { mounts }));
        expect((await whenExited(runtime, id)).exitCode).toBe(5);
        expect(readFileSync(logFile, 'utf8')).toContain('stdout F text');
        expect(readdirSync(volume)).toEqual(['file']);
      });

      test('runs once started, and cannot be started a second time', async () => {
        const { id } = await start(containerOf(C.runForever));
        const status = await runtime.containerStatus(id);
        expect(status.state).toBe('CONTAINER_RUNNING');
        expect(status.startedAt).toBeGreaterThanOrEqual(status.createdAt);
        await expect(runtime.startContainer(id)).rejects.toEqual(kind('FailedPrecondition'));
      });

      test('that is unknown cannot be started and has no status', async () => {
        await expect(runtime.startContainer('unknown')).rejects.toEqual(kind('NotFound'));
        await expect(runtime.containerStatus('unknown')).rejects.toEqual(kind('NotFound'));
      });

      test('that succeeds is Completed with exit code 0', async () => {
        const { id } = await start(containerOf(C.succeed));
        const status = await whenExited(runtime, id);
        expect(status).toMatchObject({ exitCode: 0, reason: 'Completed' });
        // A short container may end before its runtime has noted the start.
        expect(status.startedAt).toBeGreaterThanOrEqual(status.createdAt);
        expect(status.finishedAt).toBeGreaterThanOrEqual(status.createdAt);
      });

      test('that fails is an Error with its exit code, and stays exited', async () => {
        const { id } = await start(containerOf(C.fail));
        expect(await whenExited(runtime, id)).toMatchObject({ exitCode: 3, reason: 'Error' });
        await expect(runtime.startContainer(id)).rejects.toEqual(kind('FailedPrecondition'));
      });

      test('whose program is missing is rejected and exited, and says which program', async () => {
        const sandbox = podOf();
        const podSandboxId = await runtime.runPodSandbox(sandbox);
        const id = await runtime.createContainer(podSandboxId, containerOf(C.missing), sandbox);
        await expect(runtime.startContainer(id)).rejects.toThrow('/no/such/program');
        const status = await runtime.containerStatus(id);
        expect(status).toMatchObject({ state: 'CONTAINER_EXITED', reason: 'StartError' });
        expect(status.exitCode).toBeGreaterThanOrEqual(126);
        expect(status.message).toContain('/no/such/program');
      });

      test('ends by SIGTERM when it is stopped; a second stop changes nothing', async () => {
        const { id } = await start(containerOf(C.runForever));
        await runtime.stopContainer(id, 1000);
        expect(await runtime.containerStatus(id)).toMatchObject({ state: 'CONTAINER_EXITED', exitCode: 143 });
        await runtime.stopContainer(id, 0);
      });

      test('gets SIGTERM for its main process alone', async () => {
        const { id } = await startReady(C.askChild);
        await runtime.stopContainer(id, 1000);
        expect((await runtime.containerStatus(id)).exitCode).toBe(140);
      });

      test('that ignores SIGTERM is killed after the timeout', async () => {
        const { id } = await startIgnoringTerm();
        await runtime.stopContainer(id, 1);
        expect(await runtime.containerStatus(id)).toMatchObject({ state: 'CONTAINER_EXITED', exitCode: 137 });
      });

      test('is killed earlier if a second stop has a shorter timeout (lifecycle.md 4)', async () => {
        const { id } = await startIgnoringTerm();
        const first = runtime.stopContainer(id, 1000);
        await runtime.stopContainer(id, 0);
        await first;
        expect((await runtime.containerStatus(id)).state).toBe('CONTAINER_EXITED');
      });

      test('is killed when it is removed while it runs', async () => {
        const { id } = await start(containerOf(C.ignoreTerm));
        await runtime.removeContainer(id);
        await expect(runtime.containerStatus(id)).rejects.toEqual(kind('NotFound'));
      });

      test('that is unknown can be stopped and removed', async () => {
        await runtime.stopContainer('unknown', 1);
        await runtime.removeContainer('unknown');
      });

      test('has statistics while it runs', async () => {
        const { id } = await start(containerOf(C.runForever));
        const [stats] = await runtime.listContainerStats({ id });
        expect(stats?.attributes.id).toBe(id);
        await runtime.stopContainer(id, 0);
        expect(await runtime.listContainerStats({ id, state: 'CONTAINER_RUNNING' })).toEqual([]);
      });

      test('has events from its creation to its removal', async () => {
        const events = new ReplaySubject<ContainerEvent>();
        const subscription = runtime.containerEvents().subscribe(events);
        const { id, sandbox } = await start(containerOf(C.succeed));
        await whenExited(runtime, id);
        await runtime.removeContainer(id);
        const heard: ContainerEvent[] = [];
        events.subscribe((event) => event.containerId === id && heard.push(event));
        await waitFor(() => heard.length >= 4, { what: 'four events' });
        subscription.unsubscribe();
        expect(heard.map((event) => event.containerEventType)).toEqual([
          'CONTAINER_CREATED_EVENT',
          'CONTAINER_STARTED_EVENT',
          'CONTAINER_STOPPED_EVENT',
          'CONTAINER_DELETED_EVENT',
        ]);
        expect(heard[0]?.podSandboxMetadata).toEqual(sandbox.metadata);
      });
    });

    describe('execSync', () => {
      test('gives output and exit code of a command', async () => {
        const { id } = await start(containerOf(C.runForever));
        const { stdout, stderr, exitCode } = await runtime.execSync(id, C.say, 0);
        expect([stdout.toString(), stderr.toString(), exitCode]).toEqual(['out\n', 'err\n', 7]);
      });

      test('kills a command that takes too long', async () => {
        const { id } = await start(containerOf(C.runForever));
        await expect(runtime.execSync(id, C.runForever, 1)).rejects.toEqual(kind('DeadlineExceeded'));
      });

      test('needs a container that runs', async () => {
        const { id } = await start(containerOf(C.succeed));
        await whenExited(runtime, id);
        await expect(runtime.execSync(id, C.say, 0)).rejects.toEqual(kind('FailedPrecondition'));
        await expect(runtime.execSync('unknown', C.say, 0)).rejects.toEqual(kind('NotFound'));
      });
    });

    describe('an image', () => {
      test('is there once it was pulled, by the reference that was returned', async () => {
        const reference = await runtime.pullImage(bed.image ?? 'registry.invalid/app:1');
        expect(await runtime.imageStatus(reference)).toMatchObject({ id: reference });
      });
    });
  });
}
