import { afterAll, describe, expect, test } from '@jest/globals';
import { dialFailure, isDialFailure, tcpConnect } from '../../../../src/agent/runtime/probes/tcp-connect.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { withDeadline } from '../../../../src/system/timer.ts';
import { closedPort, closeServers, tcpServer } from './servers.ts';

describe('tcp connect', () => {
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

    test('there is no answer in time', async () => {
      const clock = new VirtualClock();
      const pending = withDeadline(clock, 1000, signal, (limited) => {
        const connecting = tcpConnect(NOWHERE, limited);
        void clock.advance(1000);
        return connecting;
      });
      await expect(pending).rejects.toThrow(/dial tcp 192\.0\.2\.1:80: (i\/o timeout|connect: )/u);
    });

    test('aborted: the reason is kept', async () => {
      const abort = new AbortController();
      const pending = tcpConnect(NOWHERE, abort.signal);
      abort.abort(new Error('the pod ends'));
      await expect(pending).rejects.toThrow('the pod ends');
      await expect(tcpConnect(NOWHERE, abort.signal)).rejects.toThrow('the pod ends');
    });
  });
});

const ADDRESS = { host: '10.0.0.7', port: 80 };

const failed = (code: string, syscall = 'connect') =>
  Object.assign(new Error(`${code} text`), { code, syscall });

describe('the message of a failed connection', () => {
  test.each([
    ['ECONNREFUSED', 'dial tcp 10.0.0.7:80: connect: connection refused'],
    ['EHOSTUNREACH', 'dial tcp 10.0.0.7:80: connect: no route to host'],
    ['ENOTFOUND', 'dial tcp: lookup 10.0.0.7: no such host'],
    ['EODD', 'dial tcp 10.0.0.7:80: connect: EODD text'],
  ])('%s: %s', (code, message) => {
    expect(dialFailure(ADDRESS, failed(code))).toBe(message);
  });

  test('of a name with several addresses is that of the first', () => {
    const error = new AggregateError([failed('ETIMEDOUT'), failed('ECONNREFUSED')]);
    expect(dialFailure(ADDRESS, error)).toBe('dial tcp 10.0.0.7:80: connect: connection timed out');
  });
});

describe('an error', () => {
  test.each([
    ['of connect', failed('ECONNRESET'), true],
    ['of a lookup', failed('EAI_AGAIN', 'getaddrinfo'), true],
    ['after the connection was made', failed('ECONNRESET', 'read'), false],
  ])('%s came before the connection: %j', (_when, error, expected) => {
    expect(isDialFailure(error)).toBe(expected);
  });
});
