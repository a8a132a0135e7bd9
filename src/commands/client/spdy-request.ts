/** Opens a SPDY connection to a path of the daemon, as kubectl does for the streams of commands and ports. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { SpdyConnection } from '../../agent/server/streaming/spdy/spdy-connection.ts';
import { errnoCode } from '../../system/system-errors.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import { type DaemonConnection, refusal } from './daemon-connection.ts';

/** `protocol`: what the streams of the connection mean. Rejects with the daemon's words where it refuses. */
export async function openSpdy(
  daemon: DaemonConnection,
  path: string,
  protocol: string,
): Promise<SpdyConnection> {
  const sent = daemon.open(path, {
    method: 'POST',
    headers: { Connection: 'Upgrade', Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': protocol },
  });
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
  sent.once('upgrade', (_response, socket, head) => {
    if (head.length > 0) socket.unshift(head);
    resolve(socket);
  });
  sent.once('response', (response: IncomingMessage) => {
    const { statusCode = 0 } = response;
    text(response).then((body) => reject(refusal(statusCode, body, path)), reject);
  });
  sent.once('error', (error) => {
    const why = errnoCode(error) ?? errorMessage(error);
    reject(
      new StateletError('Unavailable', `no statelet answers at ${daemon.origin}; is it running? (${why})`),
    );
  });
  sent.end();
  return new SpdyConnection(await promise, { side: 'client' });
}

/** The last part of a path below the pod: its parts may have any characters. */
export function pathOf(...parts: readonly string[]): string {
  return parts.map((part) => `/${encodeURIComponent(part)}`).join('');
}
