import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { readStat } from '../../../src/embedded/containers/proc.ts';
import {
  containerStats,
  engineHandlers,
  MonitorServer,
} from '../../../src/embedded/monitor/monitor-server.ts';
import { connectSocket } from '../../../src/embedded/monitor/monitor-socket.ts';
import type { Handlers, MethodName, Params, Result } from '../../../src/embedded/monitor/protocol.ts';
import type { ContainerRecord } from '../../../src/embedded/monitor/records.ts';
import { StreamDesk } from '../../../src/embedded/streams/stream-desk.ts';
import type { ContainerEvent, PodSandboxStatus } from '../../../src/types/cri.ts';
import { StateletError } from '../../../src/types/errors.ts';
import { childProcesses } from '../../support/child-processes.ts';
import { type EngineBed, engineBed } from '../../support/process-engine.ts';
import { containerRecord } from '../../support/process-records.ts';
import { kill9, processRuntimeBed, type ProcessRuntimeBed } from '../../support/process-runtime.ts';
import { containerConfig, podConfig } from '../../support/runtime-configs.ts';
import { waitFor } from '../../support/wait-for.ts';

describe('monitor server', () => {
  const HELLO = {
    hello: 'statelet-monitor',
    protocol: 1,
    pid: process.pid,
    features: ['privileges', 'streams', 'findings', 'mounts', 'cgroups'],
  };
  const EVENT = { containerId: 'a', containerEventType: 'CONTAINER_STARTED_EVENT' } as ContainerEvent;

  /** With 65 MiB. */
  const LARGE = { annotations: { a: 'x'.repeat(65 * 1024 * 1024) } } as unknown as PodSandboxStatus;

  let dir: string;
  let server: MonitorServer;
  let sockets: Socket[];
  /** The signal of each stop that is under way: stops do not end by themselves. */
  let stops: AbortSignal[];

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'statelet-server-'));
    [sockets, stops] = [[], []];
    const handlers: Partial<Handlers> = {
      ping: () => undefined,
      listContainers: () => [],
      podSandboxStatus: ([id]) => ({ ...LARGE, id }),
      containerStatus: ([id]) => {
        throw new StateletError('NotFound', `there is no container ${id}`);
      },
      stopContainer: (_, signal) => {
        stops.push(signal);
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined)));
      },
    };
    server = new MonitorServer(dir, handlers as Handlers);
    await server.listen();
  });
  afterEach(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
    rmSync(dir, { recursive: true, force: true });
  });

  async function client() {
    const socket = await connectSocket(dir);
    sockets.push(socket);
    const received: unknown[] = [];
    createInterface(socket).on('line', (line) => received.push(JSON.parse(line)));
    const receives = (count: number) =>
      waitFor(() => received.length >= count && received, { what: `${count} messages` });
    await receives(1);
    return {
      socket,
      received,
      receives,
      send: (...messages: object[]) => {
        for (const message of messages) socket.write(`${JSON.stringify(message)}\n`);
      },
    };
  }

  describe('a client of the monitor', () => {
    test('gets first which monitor this is, then the answers to its requests', async () => {
      const { send, receives } = await client();
      send({ id: 1, method: 'listContainers', params: [{}] }, { id: 2, method: 'ping', params: [] });
      expect(await receives(3)).toEqual([HELLO, { id: 1, result: [] }, { id: 2 }]);
    });

    test('gets the errors of the methods, and Unimplemented for an unknown method', async () => {
      const { send, receives } = await client();
      send({ id: 1, method: 'containerStatus', params: ['x'] }, { id: 2, method: 'toString', params: [] });
      expect((await receives(3)).slice(1)).toEqual([
        { id: 1, error: { kind: 'NotFound', message: 'there is no container x' } },
        { id: 2, error: { kind: 'Unimplemented', message: 'the monitor has no method toString' } },
      ]);
    });

    test('gets an error in place of an answer that is larger than it takes', async () => {
      const { send, receives } = await client();
      send({ id: 1, method: 'podSandboxStatus', params: ['large'] }, { id: 2, method: 'ping', params: [] });
      expect((await receives(3)).slice(1)).toEqual([
        {
          id: 1,
          error: {
            kind: 'ResourceExhausted',
            message:
              'the answer to podSandboxStatus is too large: the monitor of the embedded runtime gives at most 64 MiB',
          },
        },
        { id: 2 },
      ]);
    });

    test('may cancel a call, and only its own', async () => {
      const [one, two] = [await client(), await client()];
      one.send({ id: 1, method: 'stopContainer', params: ['a', 5] });
      await waitFor(() => stops.length === 1, { what: 'the first stop' });
      two.send({ id: 1, method: 'stopContainer', params: ['b', 5] });
      await waitFor(() => stops.length === 2, { what: 'the second stop' });
      two.send({ cancel: 1 }, { cancel: 99 });
      await two.receives(2);
      expect(stops.map(({ aborted }) => aborted)).toEqual([false, true]);
    });

    test('that disconnects cancels its calls', async () => {
      const { socket, send } = await client();
      send({ id: 1, method: 'stopContainer', params: ['a', 5] });
      await waitFor(() => stops.length === 1, { what: 'the stop' });
      expect(server.clientCount).toBe(1);
      socket.destroy();
      await waitFor(() => stops[0]?.aborted, { what: 'the end of the call' });
      await waitFor(() => server.clientCount === 0, { what: 'the end of the connection' });
    });

    test('that does not speak the protocol is disconnected; the others are not', async () => {
      const [good, bad] = [await client(), await client()];
      const closed = once(bad.socket, 'close');
      bad.socket.write('GET / HTTP/1.1\r\n\r\n');
      await closed;
      good.send({ id: 1, method: 'ping', params: [] });
      expect(await good.receives(2)).toEqual([HELLO, { id: 1 }]);
    });

    test('gets every event, as all others do', async () => {
      const clients = [await client(), await client()];
      server.broadcast(EVENT);
      for (const { receives } of clients) expect(await receives(2)).toEqual([HELLO, { event: EVENT }]);
    });

    test('is disconnected when the server closes', async () => {
      const { socket } = await client();
      const ended = once(socket, 'end');
      server.close();
      await ended;
    });
  });

  describe("the monitor's socket", () => {
    test('and its folder are for their owner alone', () => {
      expect((statSync(dir).mode & 0o777).toString(8)).toBe('700');
      expect((statSync(join(dir, 'monitor.sock')).mode & 0o777).toString(8)).toBe('600');
    });

    test('replaces the file that a killed monitor has left', async () => {
      server.close();
      writeFileSync(join(dir, 'monitor.sock'), '');
      await server.listen();
      expect((await client()).received).toEqual([HELLO]);
    });

    test('is made again after it was deleted, and its connections stay', async () => {
      const { send, receives } = await client();
      rmSync(join(dir, 'monitor.sock'));
      await server.ensureReachable();
      expect((await client()).received).toEqual([HELLO]);
      send({ id: 1, method: 'ping', params: [] });
      expect(await receives(2)).toEqual([HELLO, { id: 1 }]);
    });

    test('is not made again while it exists', async () => {
      const { ino } = statSync(join(dir, 'monitor.sock'));
      await server.ensureReachable();
      expect(statSync(join(dir, 'monitor.sock')).ino).toBe(ino);
    });

    test('cannot be reached any more once its folder is removed, which the server notices', () => {
      expect(server.isFolderRemoved).toBe(false);
      rmSync(dir, { recursive: true });
      expect(server.isFolderRemoved).toBe(true);
    });
  });

  describe('a monitor with too many clients', () => {
    let bed: ProcessRuntimeBed;
    beforeEach(() => {
      bed = processRuntimeBed();
    });
    afterEach(() => bed.cleanup());

    test('disconnects those above its limit that have asked for nothing, the oldest first, and keeps no daemon out', async () => {
      const { runtime, rootDir } = bed;
      await runtime.status();
      const connections = await Promise.all(
        Array.from({ length: 100 }, () => connectSocket(join(rootDir, 'runtime'))),
      );
      for (const socket of connections) socket.on('error', () => undefined).resume();
      await waitFor(() => connections.filter(({ closed }) => closed).length === 37, { what: 'the limit' });
      expect((await runtime.status()).conditions).toHaveLength(2);
      expect(connections.slice(0, 36).every(({ closed }) => closed)).toBe(true);
      expect((await bed.connect().status()).conditions).toHaveLength(2);
      for (const socket of connections) socket.destroy();
      const log = readFileSync(join(rootDir, 'runtime', 'monitor.log'), 'utf8');
      expect(log.match(/started as process/g)).toHaveLength(1);
    });
  });
});

describe('handlers', () => {
  let bed: EngineBed;
  let handlers: Handlers;
  beforeEach(() => {
    bed = engineBed();
    handlers = engineHandlers(bed.engine, new StreamDesk(bed.layout, bed.engine));
  });
  afterEach(() => bed.cleanup());

  const NEVER = new AbortController().signal;

  /** As the monitor calls it: what a handler throws becomes a rejection. */
  const call = async <M extends MethodName>(method: M, ...params: Params<M>): Promise<Result<M>> =>
    handlers[method](params, NEVER);

  const labels = { app: 'web' };
  const startedPod = async () => {
    const sandboxId = await call('runPodSandbox', podConfig('/logs', { labels }));
    const config = containerConfig(['sleep', '1000'], { labels, logPath: '' });
    const id = await call('createContainer', sandboxId, config);
    await call('startContainer', id);
    return { sandboxId, id };
  };

  describe('the methods of the monitor', () => {
    test('list what passes the filter, in the form of CRI', async () => {
      const { sandboxId, id } = await startedPod();
      const other = await call('runPodSandbox', podConfig('/logs'));
      const sandboxes = await call('listPodSandbox', { labelSelector: labels });
      expect(sandboxes.map((sandbox) => sandbox.id)).toEqual([sandboxId]);
      expect(await call('listPodSandbox', {})).toHaveLength(2);
      expect(await call('listContainers', { podSandboxId: other })).toEqual([]);
      expect(await call('listContainers', { labelSelector: labels })).toMatchObject([
        { id, podSandboxId: sandboxId, state: 'CONTAINER_RUNNING' },
      ]);
    });

    test('list few labels and annotations, and the status has all: those of one pod may be as long as a message', async () => {
      const long = { note: 'x'.repeat(1_000_000) };
      const sandboxId = await call('runPodSandbox', podConfig('/logs', { labels, annotations: long }));
      const annotations = { ...long, 'io.kubernetes.container.hash': 'abc' };
      const image = { image: 'i'.repeat(1_000_000) };
      const more = { labels: { ...labels, 'io.kubernetes.pod.uid': 'u-1' }, annotations, image, logPath: '' };
      const id = await call('createContainer', sandboxId, containerConfig(['true'], more));
      expect(await call('listPodSandbox', {})).toMatchObject([{ id: sandboxId, annotations: {} }]);
      const lists = await call('listContainers', {});
      expect(lists[0]?.labels).toEqual({ 'io.kubernetes.pod.uid': 'u-1' });
      expect(lists[0]?.annotations).toEqual({ 'io.kubernetes.container.hash': 'abc' });
      expect(JSON.stringify(lists).length).toBeLessThan(4_000);
      expect(await call('podSandboxStatus', sandboxId)).toMatchObject({ labels, annotations: long });
      expect(await call('containerStatus', id)).toMatchObject({ labels, annotations, image: image.image });
    });

    test('show the status of a sandbox and a container; NotFound if there is none', async () => {
      const { sandboxId, id } = await startedPod();
      expect(await call('podSandboxStatus', sandboxId)).toMatchObject({ state: 'SANDBOX_READY' });
      expect(await call('containerStatus', id)).toMatchObject({
        id,
        state: 'CONTAINER_RUNNING',
        logPath: '',
      });
      for (const method of ['podSandboxStatus', 'containerStatus', 'reopenContainerLog'] as const) {
        await expect(call(method, 'unknown')).rejects.toMatchObject({ kind: 'NotFound' });
      }
    });

    test('give statistics of running containers only', async () => {
      const { id } = await startedPod();
      const stats = await call('listContainerStats', {});
      expect(stats.map(({ attributes }) => attributes.id)).toEqual([id]);
      await call('stopContainer', id, 0);
      expect(await call('listContainerStats', {})).toEqual([]);
    });

    test('run a command until it ends or the client gives up', async () => {
      const { id } = await startedPod();
      const { exitCode, stdoutBase64 } = await call('execSync', id, ['echo', 'here'], 0);
      expect([exitCode, Buffer.from(stdoutBase64, 'base64').toString()]).toEqual([0, 'here\n']);
      const client = new AbortController();
      const command = handlers.execSync([id, ['sleep', '1000'], 0], client.signal);
      client.abort();
      await expect(command).rejects.toMatchObject({ kind: 'Canceled' });
    });

    test('stop and remove a container and its sandbox', async () => {
      const { sandboxId, id } = await startedPod();
      await call('stopPodSandbox', sandboxId);
      expect(await call('containerStatus', id)).toMatchObject({ state: 'CONTAINER_EXITED', exitCode: 137 });
      await call('removeContainer', id);
      await call('removePodSandbox', sandboxId);
      expect([await call('listPodSandbox', {}), await call('listContainers', {})]).toEqual([[], []]);
    });

    test('answer a ping', async () => {
      await expect(call('ping')).resolves.toBeUndefined();
    });
  });
});

describe('process stats', () => {
  const children = childProcesses();
  afterEach(() => children.end());

  const recordOf = (pid: number, id = 'main'): ContainerRecord => {
    const { startTicks } = readStat(pid)!;
    return containerRecord({ id, process: { pid, startTicks } });
  };

  const TICK_NS = 10_000_000;

  describe('the statistics of a container', () => {
    test('have its id and metadata, and the same time as those of the others', () => {
      const records = ['one', 'two'].map((id) => recordOf(children.start('sleep', ['1000']).pid, id));
      const [one, two] = containerStats(records);
      const { metadata, labels } = records[0]!.config;
      expect(one?.attributes).toEqual({ id: 'one', metadata, labels });
      expect(two?.attributes.id).toBe('two');
      expect(two?.cpu?.timestamp).toBe(one?.cpu?.timestamp);
    });

    test('count all processes of its session, and no others', async () => {
      const other = recordOf(children.start('sleep', ['1000']).pid, 'other');
      const script = 'sleep 1000 & set -m; sleep 1000 & echo started; wait';
      const { pid } = await children.startShell(script);
      const [stats, others] = containerStats([recordOf(pid), other]);
      expect([stats?.processCount, others?.processCount]).toEqual([3, 1]);
      expect(stats?.memory?.rssBytes).toBeGreaterThan(others?.memory?.rssBytes ?? Infinity);
      expect(stats?.memory?.workingSetBytes).toBe(stats?.memory?.rssBytes);
    });

    test('have the CPU time of its processes', async () => {
      const { pid } = await children.startShell(
        'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo; sleep 1000',
      );
      const { cpuTicks } = readStat(pid)!;
      expect(cpuTicks).toBeGreaterThan(0);
      expect(containerStats([recordOf(pid)])[0]?.cpu?.usageCoreNanoSeconds).toBeGreaterThanOrEqual(
        cpuTicks * TICK_NS,
      );
    });

    test('keep the CPU time of processes that have ended: a counter never falls', async () => {
      // The worker leaves the shell, which cannot add its time then.
      const work = 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exec sleep 1000';
      const { pid, line } = await children.startShell(`(bash -c '${work}' & echo $!); sleep 1000`);
      const record = recordOf(pid);
      const used = () => containerStats([record])[0]?.cpu?.usageCoreNanoSeconds ?? 0;
      const before = await waitFor(() => used() > 5 * TICK_NS && used(), { what: 'CPU time' });
      await kill9(Number(line));
      expect(used()).toBeGreaterThanOrEqual(before);
    });

    test('are empty if none of its processes runs any more', () => {
      const ended = containerRecord({ id: 'ended', process: { pid: 2 ** 22 + 1, startTicks: 1 } });
      expect(containerStats([ended])[0]).toMatchObject({
        processCount: 0,
        cpu: { usageCoreNanoSeconds: 0 },
        memory: { rssBytes: 0 },
      });
    });
  });
});
