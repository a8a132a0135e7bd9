/** The two services from which a runtime's events may come. */
import type { ContainerEventType } from '../../../types/cri.ts';
import type { ContainerEventResponse } from '../messages/container-messages.ts';
import { type Envelope, SUBSCRIBE } from '../messages/containerd-messages.ts';
import type { Channel } from '../calls/channel.ts';
import type { RawEvent } from './hints.ts';
import { GET_CONTAINER_EVENTS } from '../messages/methods.ts';

/** The namespace of containerd's CRI plugin. */
const NAMESPACE = 'k8s.io';

/**
 * A task is the running part of a container or a sandbox. It is deleted after its end; containerd's CRI plugin shows the end
 * about 15 ms after that event. The plugin forgets a container after the event of its deletion. Commands inside a container
 * delete no task when they exit.
 */
const TYPE_OF_TOPIC: Readonly<Record<string, ContainerEventType>> = {
  '/containers/create': 'CONTAINER_CREATED_EVENT',
  '/tasks/start': 'CONTAINER_STARTED_EVENT',
  '/tasks/delete': 'CONTAINER_STOPPED_EVENT',
  '/containers/delete': 'CONTAINER_DELETED_EVENT',
};

const EARLY: ReadonlySet<ContainerEventType> = new Set([
  'CONTAINER_STOPPED_EVENT',
  'CONTAINER_DELETED_EVENT',
]);

/** Opens a stream of events, which ends with `error` or `end`. If the runtime is down, the stream waits for it. */
export type EventSource = (channel: Channel, tell: (raw: RawEvent) => void) => Stream;

type Stream = ReturnType<Channel['stream']>;

/** CRI's own service, which not every runtime has; containerd has it since 1.7. */
export const criEvents: EventSource = (channel, tell) => {
  const stream = channel.stream(GET_CONTAINER_EVENTS, {});
  return stream.on('data', (event: ContainerEventResponse) => {
    const { containerId: id, containerEventType: type, createdAt, podSandboxStatus } = event;
    tell({ id, type, createdAt, pod: podSandboxStatus?.metadata });
  });
};

const containerdEvents: EventSource = (channel, tell) => {
  const filters = Object.keys(TYPE_OF_TOPIC).map((topic) => `namespace==${NAMESPACE},topic=="${topic}"`);
  const stream = channel.stream(SUBSCRIBE, { filters }, { 'containerd-namespace': NAMESPACE });
  return stream.on('data', ({ topic, timestamp, event }: Envelope) => {
    const type = TYPE_OF_TOPIC[topic];
    const id = event?.value?.id;
    if (type === undefined || id === undefined) return;
    const createdAt = (timestamp?.seconds ?? 0) * 1e9 + (timestamp?.nanos ?? 0);
    tell({ id, type, createdAt, early: EARLY.has(type) });
  });
};

/** The sources, in the order in which they are tried. */
export const EVENT_SOURCES: readonly [EventSource, EventSource] = [criEvents, containerdEvents];
