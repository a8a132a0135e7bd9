import { once } from 'node:events';
import { createServer, get, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Router } from '../../../../src/agent/server/node/router.ts';
import { type Service, serveRoutes } from '../../../../src/agent/server/node/serve-routes.ts';
import { RequestError, type Route } from '../../../../src/agent/server/routes/route.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const shows: Route = {
  path: '/show/:pod/*',
  handle: ({ path, params, query }, response) =>
    void response.end(JSON.stringify({ path, params: { ...params }, query })),
};

async function serve(routes: readonly Route[], service: Partial<Service> = {}) {
  const router = new Router(routes);
  const server = createServer();
  const defects: unknown[] = [];
  serveRoutes(server, {
    find: ({ path }) => router.find(path),
    notFound: new RequestError(404, 'nothing here'),
    onDefect: (error) => void defects.push(error),
    ...service,
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const ask = async (path: string, method = 'GET', headers: Record<string, string> = {}) => {
    const sent = request({ host: '127.0.0.1', port, path, method, headers });
    const [response] = (await once(sent.end(), 'response')) as [IncomingMessage];
    return { status: response.statusCode, headers: response.headers, body: await text(response) };
  };
  /** What comes back on a connection until the server ends it. */
  const raw = async (sent: string) => {
    const socket = connect(port, '127.0.0.1');
    socket.write(sent);
    return text(socket);
  };
  return { port, ask, raw, defects };
}

describe('an ordinary request', () => {
  test('reaches its route with the decoded path, its parts and the query as it was sent', async () => {
    const { ask } = await serve([shows]);
    const { status, body } = await ask('/show/a%20b/x%2Fy/z?since=1%202&x');
    expect(status).toBe(200);
    expect(JSON.parse(body)).toEqual({
      path: '/show/a b/x/y/z',
      params: { pod: 'a b', '*': 'x/y/z' },
      query: 'since=1%202&x',
    });
  });

  test('for no route gets the answer of the service, and one with another method 405', async () => {
    const { ask } = await serve([{ ...shows, methods: ['GET', 'POST'] }]);
    expect(await ask('/other')).toMatchObject({ status: 404, body: 'nothing here' });
    expect(await ask('/show/p/x', 'PUT')).toMatchObject({ status: 405, headers: { allow: 'GET, POST' } });
    expect(await ask('/show/%zz/x')).toMatchObject({ status: 400 });
  });

  test('about the server as a whole is answered without a route', async () => {
    const { ask } = await serve([shows]);
    expect(await ask('*', 'OPTIONS')).toMatchObject({ status: 200, body: '' });
    expect(await ask('*', 'POST')).toMatchObject({ status: 400, body: '', headers: { connection: 'close' } });
  });

  test('is answered by a RequestError with status, headers and body, and by any other error with 500', async () => {
    const { ask, defects } = await serve([
      {
        path: '/busy',
        handle: () => {
          throw new RequestError(429, 'too many', { 'Retry-After': '1' });
        },
      },
      { path: '/defect', handle: () => Promise.reject(new Error('it broke')) },
    ]);
    expect(await ask('/busy')).toMatchObject({
      status: 429,
      body: 'too many',
      headers: { 'retry-after': '1', 'content-type': 'text/plain; charset=utf-8' },
    });
    expect(defects).toEqual([]);
    expect(await ask('/defect')).toMatchObject({ status: 500, body: 'it broke\n' });
    expect(defects).toEqual([new Error('it broke')]);
  });

  test('whose answer fails after its beginning is cut off', async () => {
    const { port } = await serve([
      {
        path: '/half',
        handle: async (_, response) => {
          await new Promise((resolve) => response.write('half', resolve));
          throw new Error('it broke');
        },
      },
    ]);
    const sent = get({ host: '127.0.0.1', port, path: '/half' });
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    await expect(text(response)).rejects.toThrow('aborted');
  });

  test('is refused before its route is looked for', async () => {
    const asked: string[] = [];
    const { ask } = await serve([shows], {
      admit: (_, { path }) => {
        asked.push(path);
        throw new RequestError(401, 'Unauthorized');
      },
      find: () => {
        throw new Error('not to be asked');
      },
    });
    expect(await ask('/a%20b?c')).toMatchObject({ status: 401, body: 'Unauthorized' });
    expect(asked).toEqual(['/a b']);
  });
});

describe('a request for an upgrade', () => {
  const upgrade = (path: string) =>
    `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n`;
  const echoes: Route = {
    path: '/echo/:pod',
    handle: (_, response) => void response.end('no upgrade'),
    upgrade: ({ params }, socket, head) => {
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n\r\n${params.pod ?? ''}:`);
      socket.end(head);
    },
  };

  test('is handed over with its connection and what came after the headers', async () => {
    const { raw } = await serve([echoes]);
    expect(await raw(`${upgrade('/echo/web')}hello`)).toMatch(/^HTTP\/1\.1 101 .*\r\n\r\nweb:hello$/su);
  });

  test('at a route that accepts no upgrade is answered as any other', async () => {
    const { raw } = await serve([shows]);
    expect(await raw(upgrade('/show/web/x'))).toMatch(/^HTTP\/1\.1 200 OK\r\n.*"pod":"web"/su);
  });

  test.each([
    ['has sent more, and closes the connection', (socket: Socket) => socket.destroy()],
    ['has sent more, and keeps the connection open', () => undefined],
  ])('that is refused leaves no connection behind, if its client %s', async (_, end) => {
    const { promise: closed, resolve } = Promise.withResolvers<undefined>();
    const { port } = await serve([], { began: () => () => resolve(undefined) });
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => undefined);
    socket.write(`${upgrade('/other')}more`);
    await once(socket, 'data');
    end(socket);
    await closed;
    socket.destroy();
  });

  test('is refused in HTTP, and the connection ends', async () => {
    const { raw, defects } = await serve([
      {
        path: '/gone',
        handle: () => undefined,
        upgrade: () => {
          throw new RequestError(404, 'pod does not exist');
        },
      },
      { path: '/defect', handle: () => undefined, upgrade: () => Promise.reject(new Error('it broke')) },
    ]);
    expect(await raw(upgrade('/gone'))).toMatch(/^HTTP\/1\.1 404 .*\r\n\r\npod does not exist$/su);
    expect(await raw(upgrade('/other'))).toMatch(/^HTTP\/1\.1 404 .*\r\n\r\nnothing here$/su);
    expect(defects).toEqual([]);
    expect(await raw(upgrade('/defect'))).toMatch(/^HTTP\/1\.1 500 .*\r\n\r\nit broke\n$/su);
    expect(defects).toEqual([new Error('it broke')]);
  });
});

test('a connection that is taken over is measured until it ends, and a stream by WebSocket is counted', async () => {
  const told: string[] = [];
  const stream: Route = {
    path: '/exec',
    handle: (_, response) => void response.end(),
    upgrade: (_, socket) => void socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n'),
  };
  const ended = Promise.withResolvers<undefined>();
  const { raw } = await serve([stream], {
    began: ({ url }) => {
      told.push(`${url} begins`);
      return () => {
        told.push(`${url} ends`);
        ended.resolve(undefined);
      };
    },
    webSocketAdmitted: (path) => void told.push(`WebSocket ${path}`),
  });
  await raw('GET /exec HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\r\n');
  await ended.promise;
  expect(told).toEqual(['/exec begins', 'WebSocket /exec', '/exec ends']);
});
