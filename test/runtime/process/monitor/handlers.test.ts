import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { engineHandlers } from '../../../../src/runtime/process/monitor/handlers.ts';
import type {
  Handlers,
  MethodName,
  Params,
  Result,
} from '../../../../src/runtime/process/monitor/protocol.ts';
import { StreamDesk } from '../../../../src/runtime/process/streams/stream-desk.ts';
import { type EngineBed, engineBed } from '../../../support/process-engine.ts';
import { containerConfig, podConfig } from '../../../support/runtime-configs.ts';

let bed: EngineBed;
let handlers: Handlers;
beforeEach(() => {
  bed = engineBed();
  handlers = engineHandlers(bed.engine, new StreamDesk(bed.layout, (id) => bed.engine.container(id)));
});
afterEach(() => bed.cleanup());

const NEVER = new AbortController().signal;

/** As the monitor calls it: what a handler throws becomes a rejection. */
const call = async <M extends MethodName>(method: M, ...params: Params<M>): Promise<Result<M>> =>
  handlers[method](params, NEVER);

const labels = { app: 'web' };
const startPod = async () => {
  const sandboxId = await call('runPodSandbox', podConfig('/logs', { labels }));
  const config = containerConfig(['sleep', '1000'], { labels, logPath: '' });
  const id = await call('createContainer', sandboxId, config);
  await call('startContainer', id);
  return { sandboxId, id };
};

describe('the methods of the monitor', () => {
  test('list what passes the filter, in the form of CRI', async () => {
    const { sandboxId, id } = await startPod();
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
    const { sandboxId, id } = await startPod();
    expect(await call('podSandboxStatus', sandboxId)).toMatchObject({ state: 'SANDBOX_READY' });
    expect(await call('containerStatus', id)).toMatchObject({ id, state: 'CONTAINER_RUNNING', logPath: '' });
    for (const method of ['podSandboxStatus', 'containerStatus', 'reopenContainerLog'] as const) {
      await expect(call(method, 'unknown')).rejects.toMatchObject({ kind: 'NotFound' });
    }
  });

  test('give statistics of running containers only', async () => {
    const { id } = await startPod();
    const stats = await call('listContainerStats', {});
    expect(stats.map(({ attributes }) => attributes.id)).toEqual([id]);
    await call('stopContainer', id, 0);
    expect(await call('listContainerStats', {})).toEqual([]);
  });

  test('run a command until it ends or the client gives up', async () => {
    const { id } = await startPod();
    const { exitCode, stdoutBase64 } = await call('execSync', id, ['echo', 'here'], 0);
    expect([exitCode, Buffer.from(stdoutBase64, 'base64').toString()]).toEqual([0, 'here\n']);
    const client = new AbortController();
    const command = handlers.execSync([id, ['sleep', '1000'], 0], client.signal);
    client.abort();
    await expect(command).rejects.toMatchObject({ kind: 'Canceled' });
  });

  test('stop and remove a container and its sandbox', async () => {
    const { sandboxId, id } = await startPod();
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
