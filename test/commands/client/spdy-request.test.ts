import { expect, test } from '@jest/globals';
import { wordsOf } from '../../../src/commands/client/spdy-request.ts';
import { SpdyConnection } from '../../../src/server/streaming/spdy/spdy-connection.ts';
import type { SpdyStream } from '../../../src/server/streaming/spdy/spdy-stream.ts';
import { socketPair } from '../../support/socket-pair.ts';

test('what a runtime has said counts also where it resets the stream after that, read or not', async () => {
  const [near, far] = await socketPair();
  const served: SpdyStream[] = [];
  const server = new SpdyConnection(far, {
    side: 'server',
    accepts: () => true,
    onStream: (one) => served.push(one),
  });
  const client = new SpdyConnection(near, { side: 'client' });
  try {
    const remote = client.open(new Map([['streamtype', 'error']]));
    const words = wordsOf(remote);
    const isRead = new Promise((resolve) => remote.once('data', resolve));
    while (served.length === 0) await new Promise(setImmediate);
    served[0]?.write('{"status":"Success"}');
    await isRead;
    served[0]?.destroy();
    expect(await words).toBe('{"status":"Success"}');
  } finally {
    client.destroy();
    server.destroy();
  }
});
