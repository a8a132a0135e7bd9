import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { afterAll, describe, expect, test } from '@jest/globals';
import { type HTTPGetAction, httpRequest } from '../../../../src/agent/policies/probes/probe-request.ts';
import { httpGet, isHTTPResponseError } from '../../../../src/agent/runtime/probes/http-get.ts';
import { systemClock, withDeadline } from '../../../../src/system/timer.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { closedPort, closeServers, httpServer, httpsServer, tcpServer } from './servers.ts';

afterAll(closeServers);

const request = (port: number, action: Partial<HTTPGetAction> = {}) =>
  httpRequest({ port, ...action }, { name: 'main' }, '127.0.0.1', 'probe');
const get = (port: number, action: Partial<HTTPGetAction> = {}) =>
  httpGet(request(port, action), new AbortController().signal);

describe('a request', () => {
  test('has the headers of a probe, and its connection is not kept', async () => {
    let headers: IncomingHttpHeaders = {};
    const port = await httpServer((incoming, response) => {
      headers = incoming.headers;
      response.end('fine');
    });
    const response = await get(port, { path: '/x', httpHeaders: [{ name: 'X-A', value: '1' }] });
    expect([response.statusCode, await response.body()]).toEqual([200, 'fine']);
    expect(headers).toEqual({
      host: `127.0.0.1:${String(port)}`,
      'user-agent': 'kube-probe/1.36',
      accept: '*/*',
      'x-a': '1',
      connection: 'close',
    });
  });

  test('over HTTPS accepts any certificate', async () => {
    const port = await httpsServer((_, response) => response.writeHead(204).end());
    const action = { scheme: 'HTTPS', httpHeaders: [{ name: 'Host', value: 'example.org' }] };
    expect((await get(port, action)).statusCode).toBe(204);
  });

  test('may go to an IPv6 address', async () => {
    const port = await httpServer((_, response) => response.end(), '::1');
    expect((await get(port, { host: '::1' })).statusCode).toBe(200);
  });
});

describe('a body', () => {
  test('is read up to 10 KiB', async () => {
    const port = await httpServer((_, response) => response.end('x'.repeat(1_000_000)));
    expect((await (await get(port)).body()).length).toBe(10 * 1024);
  });

  test('that breaks off is an error', async () => {
    const port = await httpServer((_, response) => {
      response.writeHead(200, { 'Content-Length': 100 });
      response.write('half', () => response.destroy());
    });
    const response = await get(port);
    await expect(response.body()).rejects.toThrow('unexpected EOF');
  });

  test('that is not read is closed', async () => {
    const closed = Promise.withResolvers<unknown>();
    const port = await httpServer((_, response) => {
      response.once('close', closed.resolve).write('x');
    });
    (await get(port)).discard();
    await closed.promise;
  });

  test('that takes too long is an error', async () => {
    const clock = new VirtualClock();
    const port = await httpServer((_, response) => response.write('x'));
    const read = withDeadline(clock, 1000, new AbortController().signal, async (signal) => {
      const response = await httpGet(request(port), signal);
      void clock.advance(1000);
      return response.body();
    });
    await expect(read).rejects.toThrow('context deadline exceeded (Client.Timeout or context cancellation');
    expect(clock.armed).toBe(0);
  });
});

describe('redirects', () => {
  /** Redirects `from` to `to`, and answers everything else with the path and the host it was asked for. */
  const redirecting = (from: string, to: (port: number) => string, code = 302) => {
    let port = 0;
    const server = httpServer((incoming, response) => {
      if (incoming.url === from) response.writeHead(code, { Location: to(port) }).end('moved');
      else response.end(`${incoming.url ?? ''} ${incoming.headers.host ?? ''}`);
    });
    return server.then((found) => (port = found));
  };

  test.each([301, 302, 303, 307, 308])('%i is followed on the same host', async (code) => {
    const port = await redirecting('/a', () => '/b?c=d', code);
    const response = await get(port, { path: '/a' });
    expect(await response.body()).toBe(`/b?c=d 127.0.0.1:${String(port)}`);
  });

  test('to another port of the same host', async () => {
    const other = await httpServer((incoming, response) => response.end(incoming.headers.host));
    const port = await redirecting('/a', () => `http://127.0.0.1:${String(other)}/`);
    const httpHeaders = [{ name: 'Host', value: 'example.org' }];
    expect(await (await get(port, { path: '/a', httpHeaders })).body()).toBe(`127.0.0.1:${String(other)}`);
  });

  test('a Host of its own goes with it where only the path is another', async () => {
    const port = await redirecting('/a', () => '/b');
    const httpHeaders = [{ name: 'Host', value: 'example.org' }];
    expect(await (await get(port, { path: '/a', httpHeaders })).body()).toBe('/b example.org');
  });

  test('to another host are the answer', async () => {
    const port = await redirecting('/a', (own) => `http://localhost:${String(own)}/b`);
    const response = await get(port, { path: '/a' });
    expect([response.statusCode, await response.body()]).toEqual([302, 'moved']);
  });

  test('that say not whereto are the answer', async () => {
    const port = await httpServer((_, response) => response.writeHead(302).end('whereto?'));
    expect((await get(port)).statusCode).toBe(302);
  });

  test('in a circle end after ten requests', async () => {
    let requests = 0;
    const port = await httpServer((_, response) => {
      requests += 1;
      response.writeHead(302, { Location: '/' }).end();
    });
    await expect(get(port)).rejects.toThrow(
      `Get "http://127.0.0.1:${String(port)}/": stopped after 10 redirects`,
    );
    expect(requests).toBe(10);
  });

  test('that cannot be understood fail, and their connection is closed', async () => {
    const closed = Promise.withResolvers<unknown>();
    const port = await httpServer((_, response) => {
      response.once('close', closed.resolve).writeHead(302, { Location: 'http://[' }).write('x');
    });
    await expect(get(port)).rejects.toThrow('failed to parse Location header "http://["');
    await closed.promise;
  });

  test('to what is not HTTP fail', async () => {
    const port = await redirecting('/a', () => 'ftp://127.0.0.1/b');
    await expect(get(port, { path: '/a' })).rejects.toThrow('unsupported protocol scheme "ftp"');
  });
});

describe('no answer', () => {
  test('no server listens', async () => {
    const port = await closedPort();
    const url = `http://127.0.0.1:${String(port)}/x`;
    await expect(get(port, { path: '/x' })).rejects.toMatchObject({
      kind: 'Unavailable',
      message: `Get "${url}": dial tcp 127.0.0.1:${String(port)}: connect: connection refused`,
    });
  });

  test('the host has no address', async () => {
    await expect(get(1, { host: 'nobody.invalid' })).rejects.toThrow('dial tcp: lookup nobody.invalid: ');
  });

  test('the connection is closed without one', async () => {
    const port = await tcpServer((socket) => socket.once('data', () => socket.end()));
    await expect(get(port)).rejects.toThrow(': EOF');
  });

  test('it is not HTTP', async () => {
    const port = await tcpServer((socket) => socket.end('who goes there?\r\n'));
    await expect(get(port)).rejects.toThrow('malformed HTTP response');
  });

  test('HTTPS was asked of a server that speaks HTTP', async () => {
    const port = await httpServer((_, response) => response.end());
    const error: unknown = await get(port, { scheme: 'HTTPS' }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      message: expect.stringContaining('http: server gave HTTP response to HTTPS client'),
    });
    expect(isHTTPResponseError(error)).toBe(true);
  });

  test('it takes too long', async () => {
    const clock = new VirtualClock();
    const asked = Promise.withResolvers<undefined>();
    const port = await httpServer(() => asked.resolve(undefined));
    const pending = withDeadline(clock, 1000, new AbortController().signal, (signal) =>
      httpGet(request(port), signal),
    );
    await asked.promise;
    void clock.advance(1000);
    await expect(pending).rejects.toMatchObject({
      kind: 'DeadlineExceeded',
      message: `Get "http://127.0.0.1:${String(port)}/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
    });
  });

  test('it is aborted: the reason is kept, and the connection closed', async () => {
    const abort = new AbortController();
    const reason = new Error('the pod ends');
    const closed = Promise.withResolvers<unknown>();
    const port = await httpServer((incoming) => {
      once(incoming.socket, 'close').then(closed.resolve, closed.reject);
      abort.abort(reason);
    });
    await expect(httpGet(request(port), abort.signal)).rejects.toBe(reason);
    await closed.promise;
    await expect(httpGet(request(port), abort.signal)).rejects.toBe(reason);
  });
});

test('a deadline that is not reached leaves no timer; one of 0 arms none', async () => {
  const clock = new VirtualClock();
  const { signal } = new AbortController();
  const armed = [1000, 0].map((limitMs) =>
    withDeadline(clock, limitMs, signal, () => Promise.resolve(clock.armed)),
  );
  expect(await Promise.all(armed)).toEqual([1, 1]);
  expect(clock.armed).toBe(0);
  await expect(withDeadline(systemClock, 1, AbortSignal.abort(), () => Promise.resolve())).rejects.toThrow();
});
