/** Messages of containerd's own event service: field numbers as in the definitions of containerd's API. */
import type { Method } from './methods.ts';
import { bytes, field, int, list, message, string } from './protobuf.ts';

const any = message<{ value: Buffer }>({ value: field(2, bytes) });

export interface Envelope {
  readonly timestamp?: { readonly seconds: number; readonly nanos: number };
  readonly namespace: string;
  readonly topic: string;
  readonly event?: { readonly value: Buffer };
}

const envelope = message<Envelope>({
  timestamp: field(
    1,
    message<{ seconds: number; nanos: number }>({ seconds: field(1, int), nanos: field(2, int) }),
  ),
  namespace: field(2, string),
  topic: field(3, string),
  event: field(4, any),
});

const subscribeRequest = message<{ filters: readonly string[] }>({ filters: list(1, string) });

export const SUBSCRIBE: Method<{ filters: readonly string[] }, Envelope> = {
  name: 'Subscribe',
  path: '/containerd.services.events.v1.Events/Subscribe',
  request: subscribeRequest,
  response: envelope,
};

/** All events of containers and tasks say in field 1 whose they are. */
export const eventSubject = message<{ id: string }>({ id: field(1, string) });
