/** Port-forward over SPDY: for each connection the client opens two streams, one for data and one for errors. */
import type { Duplex } from 'node:stream';
import { parsePort } from '../../../policies/server/remote-command-options.ts';
import { SpdyConnection } from '../spdy/spdy-connection.ts';
import type { SpdyHeaders } from '../spdy/spdy-headers.ts';
import type { SpdyStream } from '../spdy/spdy-stream.ts';
import type { ForwardTarget } from './forward-connection.ts';

export const FORWARD_PROTOCOL = 'portforward.k8s.io';

interface Pair {
  data?: SpdyStream;
  error?: SpdyStream;
  readonly timer: NodeJS.Timeout;
}

/** Resolves when the client has closed the connection. */
export async function forwardOverSpdy(
  socket: Duplex,
  target: ForwardTarget,
  creationMs: number,
): Promise<void> {
  const pairs = new Map<string, Pair>();
  const connection = new SpdyConnection(socket, {
    side: 'server',
    accepts: isForward,
    onStream: (stream) => {
      const pair = pairOf(stream, pairs, creationMs);
      if (pair) void forward(pair.data, pair.error, target);
    },
  });
  await connection.closed;
  for (const { timer } of pairs.values()) clearTimeout(timer);
  target.close();
}

function isForward(headers: SpdyHeaders): boolean {
  const type = headers.get('streamtype');
  return typeof parsePort(headers.get('port') ?? '') === 'number' && (type === 'data' || type === 'error');
}

/** The pair that is complete with this stream. */
function pairOf(
  stream: SpdyStream,
  pairs: Map<string, Pair>,
  creationMs: number,
): { readonly data: SpdyStream; readonly error: SpdyStream } | undefined {
  const type = stream.headers.get('streamtype') === 'data' ? 'data' : 'error';
  // Nothing is read of an error stream.
  if (type === 'error') stream.resume();
  const id = requestId(stream, type);
  const pair = pairs.get(id) ?? { timer: setTimeout(() => giveUp(id, pairs), creationMs) };
  pairs.set(id, pair);
  if (pair[type]) {
    pair.error?.write(`error processing stream for request ${id}: ${type} stream already assigned`);
    return undefined;
  }
  pair[type] = stream;
  const { data, error, timer } = pair;
  if (!data || !error) return undefined;
  clearTimeout(timer);
  pairs.delete(id);
  return { data, error };
}

/** Clients before Kubernetes 1.3 send no id: they open the data stream right after the error stream. */
function requestId(stream: SpdyStream, type: 'data' | 'error'): string {
  return stream.headers.get('requestid') ?? String(type === 'error' ? stream.id : stream.id - 2);
}

function giveUp(id: string, pairs: Map<string, Pair>): void {
  const pair = pairs.get(id);
  pairs.delete(id);
  pair?.error?.end(`(request=${id}) timed out waiting for streams`);
  pair?.data?.destroy();
}

async function forward(data: SpdyStream, error: SpdyStream, target: ForwardTarget): Promise<void> {
  const problem = await target.carry(data, Number(data.headers.get('port')));
  if (problem === undefined) error.end();
  else error.end(problem);
  data.resume().end();
}
