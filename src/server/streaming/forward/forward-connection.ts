/** One forwarded connection: between a stream of the client and a port of the pod. */
import type { Duplex } from 'node:stream';
import type { PortForwarder } from '../../../runtime/service/streaming-runtime.ts';
import { errorMessage } from '../../../types/errors.ts';

export interface ForwardTarget {
  readonly forwarder: PortForwarder;
  /** `NAME_NAMESPACE`, for messages. */
  readonly podName: string;
  readonly podUid: string;
}

/** Resolves when both directions have ended: with undefined, or with what went wrong, in words for the client. */
export async function forwardConnection(
  client: Duplex,
  port: number,
  { forwarder, podName, podUid }: ForwardTarget,
): Promise<string | undefined> {
  try {
    await join(client, await forwarder.connect(port));
    return undefined;
  } catch (error) {
    return `error forwarding port ${port} to pod ${podName}, uid ${podUid}: ${errorMessage(error)}`;
  }
}

/** Each direction ends for itself. Rejects with an error of the target; what the client breaks off is no error. */
function join(client: Duplex, target: Duplex): Promise<void> {
  return new Promise((resolve, reject) => {
    client.on('error', () => undefined).once('close', () => target.destroy());
    target
      .once('error', reject)
      .once('end', () => client.end())
      .once('close', () => {
        client.end();
        // The client may still send into a connection that is gone.
        client.unpipe(target);
        client.resume();
        resolve();
      });
    if (client.destroyed) target.destroy();
    client.pipe(target);
    target.pipe(client, { end: false });
  });
}
