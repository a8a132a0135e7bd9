import { afterAll, describe, expect, test } from '@jest/globals';
import { withDeadline } from '../../../src/runtime/probes/deadline.ts';
import { tcpConnect } from '../../../src/runtime/probes/tcp-connect.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { closedPort, closeServers, tcpServer } from './servers.ts';

afterAll(closeServers);

const address = (port: number) => ({ host: '127.0.0.1', port });
const { signal } = new AbortController();
/** An address of which nothing is ever heard: reserved for documentation (RFC 5737), or refused outright. */
const NOWHERE = { host: '192.0.2.1', port: 80 };

describe('tcpConnect', () => {
  test('a connection is enough, and is closed again', async () => {
    const closed = Promise.withResolvers<unknown>();
    const port = await tcpServer((socket) => socket.once('close', closed.resolve).resume());
    await tcpConnect(address(port), signal);
    await closed.promise;
  });

  test('no server listens', async () => {
    const port = await closedPort();
    await expect(tcpConnect(address(port), signal)).rejects.toMatchObject({
      kind: 'Unavailable',
      message: `dial tcp 127.0.0.1:${String(port)}: connect: connection refused`,
    });
  });

  test('the name has no address', async () => {
    const nobody = { host: 'nobody.invalid', port: 80 };
    await expect(tcpConnect(nobody, signal)).rejects.toThrow('dial tcp: lookup nobody.invalid: ');
  });

  test('nothing is heard in time', async () => {
    const clock = new VirtualClock();
    const pending = withDeadline(clock, 1000, signal, (limited) => {
      const connecting = tcpConnect(NOWHERE, limited);
      void clock.advance(1000);
      return connecting;
    });
    await expect(pending).rejects.toThrow(/dial tcp 192\.0\.2\.1:80: (i\/o timeout|connect: )/u);
  });

  test('given up: the reason is told', async () => {
    const abort = new AbortController();
    const pending = tcpConnect(NOWHERE, abort.signal);
    abort.abort(new Error('the pod ends'));
    await expect(pending).rejects.toThrow('the pod ends');
    await expect(tcpConnect(NOWHERE, abort.signal)).rejects.toThrow('the pod ends');
  });
});
