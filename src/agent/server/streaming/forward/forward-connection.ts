/** One forwarded connection: between a stream of the client and a port of the pod. */
import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { PortForwarder } from '../../../runtime/service/streaming-runtime.ts';
import { errorMessage } from '../../../../types/errors.ts';

/** The pod whose ports connections are carried to. */
export interface ForwardTarget {
  /** Resolves when both directions have ended, and all is sent: with undefined, or with what went wrong, in words for the client. */
  carry(client: Duplex, port: number): Promise<string | undefined>;
  /** Ends all connections. */
  close(): void;
}

export interface ForwardedPod {
  /** `NAME_NAMESPACE`, for messages. */
  readonly podName: string;
  readonly podUid: string;
}

/** A pod whose ports the agent itself can reach. */
export function forwarderTarget(forwarder: PortForwarder, { podName, podUid }: ForwardedPod): ForwardTarget {
  return {
    carry: async (client, port) => {
      try {
        await join(client, await forwarder.connect(port));
        return undefined;
      } catch (error) {
        return `error forwarding port ${port} to pod ${podName}, uid ${podUid}: ${errorMessage(error)}`;
      }
    },
    close: () => forwarder.close(),
  };
}

/** One direction may end before the other. Rejects with an error of the target; what the client breaks off is no error. */
async function join(client: Duplex, target: Duplex): Promise<void> {
  const { promise: closed, resolve, reject } = Promise.withResolvers<undefined>();
  client.on('error', () => undefined).once('close', () => target.destroy());
  target
    .once('error', reject)
    .once('end', () => client.end())
    .once('close', () => {
      client.end();
      // The client may still send into a connection that is gone.
      client.unpipe(target);
      client.resume();
      resolve(undefined);
    });
  if (client.destroyed) target.destroy();
  client.pipe(target);
  target.pipe(client, { end: false });
  try {
    await closed;
  } finally {
    await allSent(client);
  }
}

/** Resolves when all that was written is sent, or the client is gone. */
export async function allSent(client: Duplex): Promise<void> {
  await finished(client, { readable: false }).catch(() => undefined);
}
