/** Connections to ports of a pod that the runtime carries over SPDY, opened by us. */
import type { Duplex } from 'node:stream';
import { lastWords } from '../spdy/last-words.ts';
import { SpdyConnection } from '../spdy/spdy-connection.ts';
import { askForSpdy } from '../upgrade/runtime-upgrade.ts';
import { allSent, type ForwardTarget } from './forward-connection.ts';
import { FORWARD_PROTOCOL } from './spdy-forward.ts';

/** Throws a `RequestError` with the runtime's answer where it refuses. */
export async function openRuntimeForward(url: URL, signal: AbortSignal): Promise<ForwardTarget> {
  const socket = await askForSpdy({ url, protocol: FORWARD_PROTOCOL, signal });
  const connection = new SpdyConnection(socket, { side: 'client' });
  let requests = 0;
  return {
    carry: (client, port) => carry(client, connection, { port, request: requests++ }),
    close: () => connection.destroy(),
  };
}

interface Carried {
  readonly port: number;
  readonly request: number;
}

async function carry(
  client: Duplex,
  connection: SpdyConnection,
  { port, request }: Carried,
): Promise<string | undefined> {
  const open = (streamtype: string) =>
    connection.open(
      new Map([
        ['streamtype', streamtype],
        ['port', String(port)],
        ['requestid', String(request)],
      ]),
    );
  const problem = lastWords(open('error').end());
  const data = open('data');
  client.on('error', () => undefined).once('close', () => data.destroy());
  data.once('close', () => {
    client.end();
    client.unpipe(data);
    client.resume();
  });
  if (client.destroyed) data.destroy();
  client.pipe(data).pipe(client);
  await allSent(client);
  return (await problem) || undefined;
}
