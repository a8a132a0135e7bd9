/** The two services that tell what happens in a runtime, each as a stream of happenings. */
import type { ContainerEventType } from '../../../types/cri.ts';
import type { ContainerEventResponse } from '../messages/container-messages.ts';
import { type Envelope, SUBSCRIBE } from '../messages/containerd-messages.ts';
import type { Channel } from '../calls/channel.ts';
import type { Happening } from './hints.ts';
import { GET_CONTAINER_EVENTS } from '../messages/methods.ts';

/** The namespace in which containerd's CRI plugin keeps everything. */
const NAMESPACE = 'k8s.io';

/**
 * A task is what runs of a container, or of a sandbox. That it was deleted is told after its end: only then does
 * containerd's CRI plugin note the end, which takes it another 15 ms; it forgets a container after that one's deletion has
 * been told. Exits of commands inside a container delete no task.
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

/** Opens a stream of happenings. It waits for the runtime where that is down; it ends with `error` or `end`. */
export type EventSource = (channel: Channel, tell: (happening: Happening) => void) => Stream;

type Stream = ReturnType<Channel['stream']>;

/** CRI's own, which not every runtime has: containerd since 1.7. */
const criEvents: EventSource = (channel, tell) => {
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

/** In the order in which they are tried. */
export const EVENT_SOURCES: readonly [EventSource, EventSource] = [criEvents, containerdEvents];
