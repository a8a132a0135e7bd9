import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import grpc from '@grpc/grpc-js';
import type { Subscription } from 'rxjs';
import type { ContainerEventResponse } from '../../../../../src/agent/runtime/cri/messages/container-messages.ts';
import {
  type Envelope,
  SUBSCRIBE,
} from '../../../../../src/agent/runtime/cri/messages/containerd-messages.ts';
import * as methods from '../../../../../src/agent/runtime/cri/messages/methods.ts';
import type { RuntimeService } from '../../../../../src/agent/runtime/service/runtime-service.ts';
import type {
  Container,
  ContainerEvent,
  ContainerStateName,
  PodSandbox,
  PodSandboxState,
} from '../../../../../src/types/cri.ts';
import { containerConfig, podConfig } from '../../../../support/runtime-configs.ts';
import { waitFor } from '../../../../support/wait-for.ts';
import { answer, answerStream, failure, FakeRuntime } from '../fake-runtime.ts';

const SECOND = 1_795_251_030;
const TOPICS = {
  created: '/containers/create',
  started: '/tasks/start',
  stopped: '/tasks/delete',
  deleted: '/containers/delete',
};

describe('events of a runtime', () => {
  let fake: FakeRuntime;
  let subscription: Subscription | undefined;
  let heard: ContainerEvent[];
  let complete: boolean;

  beforeEach(() => {
    fake = new FakeRuntime();
    heard = [];
    complete = false;
  });
  afterEach(async () => {
    subscription?.unsubscribe();
    await fake.cleanup();
  });

  function listen(runtime: RuntimeService): void {
    const next = (event: ContainerEvent) => void heard.push(event);
    subscription = runtime.containerEvents().subscribe({ next, complete: () => (complete = true) });
  }
  const told = (): string[] =>
    heard.map(({ containerId, containerEventType }) => `${containerId} ${containerEventType}`);
  const whenTold = (count: number) => waitFor(() => heard.length >= count, { what: `${count} events` });

  const metadata = { name: 'pod', uid: 'uid', namespace: 'default', attempt: 2 };
  const sandbox = (id: string, state: PodSandboxState = 'SANDBOX_READY'): PodSandbox => ({
    id,
    metadata,
    state,
    createdAt: 1,
    labels: {},
    annotations: {},
  });
  const container = (id: string, state: ContainerStateName): Container => ({
    id,
    podSandboxId: 's',
    metadata: { name: 'main', attempt: 0 },
    image: '',
    imageRef: '',
    state,
    createdAt: 1,
    labels: {},
    annotations: {},
  });
  const lists = (
    containers: () => readonly Container[] = () => [],
    sandboxes: () => readonly PodSandbox[] = () => [sandbox('s')],
  ) => [
    answer(methods.LIST_POD_SANDBOX, ({ filter }) => ({
      items: sandboxes().filter(({ id }) => !filter?.id || id === filter.id),
    })),
    answer(methods.LIST_CONTAINERS, ({ filter }) => ({
      containers: containers().filter(({ id }) => !filter?.id || id === filter.id),
    })),
  ];
  const statusOf = (find: (id: string) => Container | undefined) =>
    answer(methods.CONTAINER_STATUS, ({ containerId }) => {
      const found = find(containerId);
      if (found === undefined) throw failure(grpc.status.NOT_FOUND, 'not found');
      const rest = { startedAt: 1, finishedAt: 0, exitCode: 0, reason: '', message: '', logPath: '' };
      return { status: { ...found, ...rest } };
    });

  /** containerd's event service, told by the test. */
  function containerdEvents() {
    const streams: grpc.ServerWritableStream<{ filters: readonly string[] }, Envelope>[] = [];
    const serve = answerStream(SUBSCRIBE, (stream) => void streams.push(stream));
    const tell = (topic: keyof typeof TOPICS, id: string) =>
      streams.at(-1)?.write({
        timestamp: { seconds: SECOND, nanos: 500 },
        namespace: 'k8s.io',
        topic: TOPICS[topic],
        event: { value: { id } },
      });
    const connected = (count = 1) => waitFor(() => streams.length >= count, { what: `stream ${count}` });
    return { serve, tell, connected, streams };
  }

  test('are those of CRI if the runtime has them', async () => {
    const streams: grpc.ServerWritableStream<object, ContainerEventResponse>[] = [];
    const serve = answerStream(methods.GET_CONTAINER_EVENTS, (stream) => void streams.push(stream));
    await fake.serve(serve);
    listen(fake.client());
    await waitFor(() => streams.length === 1, { what: 'the stream' });
    const event = {
      containerId: 'c',
      containerEventType: 'CONTAINER_STARTED_EVENT',
      createdAt: 7000,
    } as const;
    streams[0]?.write({ ...event, podSandboxStatus: sandbox('s') });
    await whenTold(1);
    expect(heard).toEqual([{ ...event, podSandboxMetadata: metadata }]);
  });

  test('are containerd’s own otherwise, of its namespace for CRI', async () => {
    const containerd = containerdEvents();
    await fake.serve(containerd.serve, ...lists(() => [container('c', 'CONTAINER_RUNNING')]));
    listen(fake.client());
    await containerd.connected();
    expect(containerd.streams[0]?.metadata.get('containerd-namespace')).toEqual(['k8s.io']);
    expect(containerd.streams[0]?.request.filters).toContain('namespace==k8s.io,topic=="/tasks/start"');
    containerd.tell('started', 'c');
    await whenTold(1);
    expect(heard).toEqual([
      {
        containerId: 'c',
        containerEventType: 'CONTAINER_STARTED_EVENT',
        createdAt: SECOND * 1e9 + 500,
        podSandboxMetadata: metadata,
      },
    ]);
  });

  test('end if the runtime has neither, with one warning and no error', async () => {
    await fake.serve();
    listen(fake.client());
    await waitFor(() => complete, { what: 'the end' });
    expect(fake.warnings).toEqual([expect.stringContaining('sends no events')]);
    expect(fake.warnings[0]).toContain(fake.endpoint);
  });

  test('of one container keep their order, also if the first ones wait for a lookup', async () => {
    const containerd = containerdEvents();
    let state: ContainerStateName = 'CONTAINER_RUNNING';
    let looks = 0;
    const status = statusOf((id) => {
      looks += 1;
      if (looks === 3) state = 'CONTAINER_EXITED';
      return looks < 6 ? container(id, state) : undefined;
    });
    await fake.serve(containerd.serve, status, ...lists(() => [container('c', state)]));
    listen(fake.client());
    await containerd.connected();
    const before = Date.now() * 1e6;
    for (const topic of ['created', 'started', 'stopped', 'deleted'] as const) containerd.tell(topic, 'c');
    await whenTold(4);
    expect(told()).toEqual(
      ['CREATED', 'STARTED', 'STOPPED', 'DELETED'].map((type) => `c CONTAINER_${type}_EVENT`),
    );
    // The time at which the status showed the end, so that an earlier read does not count as a later one.
    expect(looks).toBe(6);
    expect(heard[2]?.createdAt).toBeGreaterThanOrEqual(before);
    expect(heard[3]?.createdAt).toBeGreaterThanOrEqual(before);
  });

  test('of a container that this client is creating wait for that call, and need no other', async () => {
    const containerd = containerdEvents();
    const made = Promise.withResolvers<string>();
    const config = podConfig(fake.dir);
    await fake.serve(
      containerd.serve,
      answer(methods.RUN_POD_SANDBOX, async () => ({ podSandboxId: await made.promise })),
      answer(methods.CREATE_CONTAINER, () => ({ containerId: 'c' })),
    );
    const runtime = fake.client();
    listen(runtime);
    await containerd.connected();
    const run = runtime.runPodSandbox(config);
    await waitFor(() => containerd.streams.length === 1, { what: 'the stream' });
    containerd.tell('created', 's');
    containerd.tell('started', 's');
    made.resolve('s');
    await run;
    await runtime.createContainer('s', containerConfig(['true']), config);
    containerd.tell('created', 'c');
    await whenTold(3);
    expect(told()).toEqual([
      ...['s CONTAINER_CREATED_EVENT', 's CONTAINER_STARTED_EVENT', 'c CONTAINER_CREATED_EVENT'],
    ]);
    expect(heard.map((event) => event.podSandboxMetadata)).toEqual(Array(3).fill(config.metadata));
  });

  test('of a container that this client is removing wait for that call, and need no other', async () => {
    const containerd = containerdEvents();
    const removal = Promise.withResolvers<object>();
    await fake.serve(
      containerd.serve,
      answer(methods.REMOVE_CONTAINER, () => removal.promise),
      ...lists(() => [container('c', 'CONTAINER_EXITED')]),
    );
    const runtime = fake.client();
    listen(runtime);
    await containerd.connected();
    await Promise.all([runtime.listPodSandbox(), runtime.listContainers()]);
    const removed = runtime.removeContainer('c');
    containerd.tell('deleted', 'c');
    containerd.tell('started', 's');
    await whenTold(1);
    expect(told()).toEqual(['s CONTAINER_STARTED_EVENT']);
    removal.resolve({});
    await removed;
    await whenTold(2);
    expect(told()[1]).toBe('c CONTAINER_DELETED_EVENT');
  });

  test('of unknown containers are dropped, and other events do not wait for them', async () => {
    const containerd = containerdEvents();
    await fake.serve(containerd.serve, ...lists());
    listen(fake.client());
    await containerd.connected();
    containerd.tell('started', 'stranger');
    containerd.tell('started', 's');
    await whenTold(1);
    expect(told()).toEqual(['s CONTAINER_STARTED_EVENT']);
  });

  test('that were missed while the runtime was down are replaced by the present states', async () => {
    const containerd = containerdEvents();
    let containers = [container('ended', 'CONTAINER_RUNNING'), container('gone', 'CONTAINER_RUNNING')];
    let sandboxes = [sandbox('s'), sandbox('killed')];
    const answers = [
      containerd.serve,
      ...lists(
        () => containers,
        () => sandboxes,
      ),
    ];
    await fake.serve(...answers);
    const runtime = fake.client();
    listen(runtime);
    await containerd.connected();
    await runtime.listPodSandbox();
    await runtime.listContainers();
    await fake.crash();
    containers = [container('ended', 'CONTAINER_EXITED'), container('new', 'CONTAINER_CREATED')];
    sandboxes = [sandbox('s'), sandbox('killed', 'SANDBOX_NOTREADY')];
    await fake.serve(...answers);
    await whenTold(5);
    expect(told().sort()).toEqual([
      ...['ended CONTAINER_STOPPED_EVENT', 'gone CONTAINER_DELETED_EVENT'],
      ...['killed CONTAINER_STOPPED_EVENT', 'new CONTAINER_CREATED_EVENT', 's CONTAINER_STARTED_EVENT'],
    ]);
    await containerd.connected(2);
    containerd.tell('started', 'new');
    await whenTold(6);
  });

  test('come from one stream for two subscribers, until the second one unsubscribes', async () => {
    const containerd = containerdEvents();
    await fake.serve(containerd.serve, ...lists());
    const runtime = fake.client();
    listen(runtime);
    const second = runtime.containerEvents().subscribe();
    await containerd.connected();
    second.unsubscribe();
    containerd.tell('started', 's');
    await whenTold(1);
    expect(containerd.streams.length).toBe(1);
    subscription?.unsubscribe();
    await waitFor(() => containerd.streams[0]?.cancelled, { what: 'the end of the stream' });
  });

  test('end when the client is closed', async () => {
    const containerd = containerdEvents();
    await fake.serve(containerd.serve);
    const runtime = fake.client();
    listen(runtime);
    await containerd.connected();
    await runtime.close();
    await waitFor(() => complete, { what: 'the end' });
    expect(fake.warnings).toEqual([]);
  });
});
