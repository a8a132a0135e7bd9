/** Messages of containerd's own event service: field numbers as in the definitions of containerd's API. */
import type { Method } from '../../../../system/grpc/method.ts';
import { field, int, list, message, string } from '../../../../system/protobuf.ts';

/** Field 1 of all events of containers and tasks is the id. */
interface Subject {
  readonly id: string;
}

export interface Envelope {
  readonly timestamp?: { readonly seconds: number; readonly nanos: number };
  readonly namespace: string;
  readonly topic: string;
  readonly event?: { readonly value?: Subject };
}

const envelope = message<Envelope>({
  timestamp: field(
    1,
    message<{ seconds: number; nanos: number }>({ seconds: field(1, int), nanos: field(2, int) }),
  ),
  namespace: field(2, string),
  topic: field(3, string),
  // A google.protobuf.Any: the bytes of its value are a message.
  event: field(
    4,
    message<{ value?: Subject }>({ value: field(2, message<Subject>({ id: field(1, string) })) }),
  ),
});

const subscribeRequest = message<{ filters: readonly string[] }>({ filters: list(1, string) });

export const SUBSCRIBE: Method<{ filters: readonly string[] }, Envelope> = {
  name: 'Subscribe',
  path: '/containerd.services.events.v1.Events/Subscribe',
  request: subscribeRequest,
  response: envelope,
};
