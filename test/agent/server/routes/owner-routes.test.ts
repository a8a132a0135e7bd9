import { createServer, get, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Router } from '../../../../src/agent/server/node/router.ts';
import { serveRoutes } from '../../../../src/agent/server/node/serve-routes.ts';
import { RecentEvents } from '../../../../src/agent/server/recent-events.ts';
import { ownerRoutes } from '../../../../src/agent/server/routes/owner-routes.ts';
import { RequestError } from '../../../../src/agent/server/routes/route.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import { condition } from '../../../support/eviction-plugins.ts';
import { staticPod } from '../../../support/agent.ts';
import { ROOMY_NODE } from '../../../support/admission.ts';
import { NO_MANIFESTS } from '../../../support/owner-socket.ts';
import { waitFor } from '../../../support/wait-for.ts';

const POD = { name: 'web', namespace: 'default', uid: 'uid-web' };
let server: Server;
let port: number;
let events: RecentEvents;
let told: string[];
let refusal: StateletError | undefined;
let ended: PromiseWithResolvers<undefined>;

beforeEach(async () => {
  events = new RecentEvents({ nodeName: 'n', now: () => Date.now(), podOf: () => undefined });
  told = [];
  refusal = undefined;
  ended = Promise.withResolvers<undefined>();
  const web = { pod: staticPod('web', 'uid-web'), state: 'Syncing.Settled' };
  const router = new Router(
    ownerRoutes({
      events,
      node: () => Promise.resolve({ metadata: { name: 'n' } }),
      nodeFacts: () => ({
        ...ROOMY_NODE,
        conditions: ['MemoryPressure'],
        pluginConditions: [condition('Hot')],
      }),
      pod: (namespace, name) => (namespace === 'default' && name === 'web' ? web : undefined),
      ...NO_MANIFESTS,
      deletePod: ({ metadata }, seconds) => {
        told.push(`delete ${metadata.uid} in ${String(seconds)}`);
        return refusal ? Promise.reject(refusal) : Promise.resolve('/pods');
      },
      whyPod: (namespace, name) =>
        Promise.resolve(
          namespace === 'default' && name === 'web'
            ? { subject: 'default/web', state: 'Syncing.Settled', sentences: ['default/web runs.'] }
            : undefined,
        ),
      whyNode: () => ({ subject: 'node n', state: 'Ready', sentences: ['Node n is ready.'] }),
      podEnded: async (uid) => {
        told.push(`wait for ${uid}`);
        await ended.promise;
      },
    }),
  );
  server = createServer();
  serveRoutes(server, {
    find: ({ path }) => router.find(path),
    notFound: new RequestError(404, 'not found\n'),
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

const url = (path: string) => `http://127.0.0.1:${String(port)}${path}`;

async function ask(method: string, path: string): Promise<{ status: number | undefined; body: string }> {
  const sent = request(url(path), { method }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode, body: await text(response) };
}

describe('DELETE /pods/NAMESPACE/POD', () => {
  test('deletes the pod with the grace period of the query, and answers at once', async () => {
    const { status, body } = await ask('DELETE', '/pods/default/web?gracePeriodSeconds=0');
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({ status: 'Success', details: { name: 'web', uid: 'uid-web' } });
    expect(told).toEqual(['delete uid-web in 0']);
  });

  test('with wait=true, the answer comes when the pod has ended', async () => {
    const answer = ask('DELETE', '/pods/default/web?wait=true');
    await waitFor(() => told.includes('wait for uid-web'), { what: 'the route to wait' });
    expect(await Promise.race([answer, new Promise((resolve) => setImmediate(resolve, 'waits'))])).toBe(
      'waits',
    );
    ended.resolve(undefined);
    expect((await answer).status).toBe(200);
  });

  test.each(['-1', '1.5', 'x', '99999999999999999999'])(
    'a wrong grace period is refused: %s',
    async (value) => {
      const { status, body } = await ask('DELETE', `/pods/default/web?gracePeriodSeconds=${value}`);
      expect([status, body]).toEqual([
        400,
        `gracePeriodSeconds: "${value}" is not a whole number from 0 up\n`,
      ]);
      expect(told).toEqual([]);
    },
  );

  test('a pod that is not there is 404, one that cannot be deleted here 409, a full disk 503', async () => {
    expect(await ask('DELETE', '/pods/default/other')).toEqual({
      status: 404,
      body: 'there is no pod default/other\n',
    });
    refusal = new StateletError('FailedPrecondition', 'belongs to the API server');
    expect(await ask('DELETE', '/pods/default/web')).toEqual({
      status: 409,
      body: 'belongs to the API server\n',
    });
    refusal = new StateletError('Unavailable', 'no space');
    expect((await ask('DELETE', '/pods/default/web')).status).toBe(503);
  });

  test('methods other than DELETE are refused there', async () => {
    expect((await ask('GET', '/pods/default/web')).status).toBe(405);
  });
});

describe('GET /events', () => {
  test('is a list; resourceVersion leaves out earlier events', async () => {
    events.event(POD, 'Normal', 'Pulled', 'one');
    events.event(POD, 'Normal', 'Started', 'two');
    const all = JSON.parse((await ask('GET', '/events')).body) as { metadata: object; items: object[] };
    expect(all).toMatchObject({ kind: 'EventList', metadata: { resourceVersion: '2' } });
    expect(all.items).toMatchObject([{ message: 'one' }, { message: 'two' }]);
    const later = JSON.parse((await ask('GET', '/events?resourceVersion=1')).body) as { items: object[] };
    expect(later.items).toMatchObject([{ message: 'two' }]);
    expect((await ask('GET', '/events?resourceVersion=x')).status).toBe(400);
  });

  test('watch=true sends present events and new ones; a client that disconnects leaves nothing', async () => {
    events.event(POD, 'Normal', 'Pulled', 'one');
    const sent = get(url('/events?watch=true'));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const lines: string[] = [];
    response
      .setEncoding('utf8')
      .on('data', (chunk: string) => lines.push(...chunk.split('\n').filter(Boolean)));
    await waitFor(() => lines.length === 1, { what: 'the first event' });
    events.event(POD, 'Normal', 'Pulled', 'one');
    await waitFor(() => lines.length === 2, { what: 'the second event' });
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { type: 'ADDED', object: { message: 'one', count: 1 } },
      { type: 'MODIFIED', object: { message: 'one', count: 2 } },
    ]);
    response.on('error', () => undefined);
    sent.destroy();
    await waitFor(async () => (await connections()) === 0, { what: 'the connection to be closed' });
  });

  test('watch=true goes on although nothing happens for longer than a connection may be idle', async () => {
    let socket: Socket | undefined;
    server.setTimeout(60_000).once('connection', (connected: Socket) => (socket = connected));
    const sent = get(url('/events?watch=true'));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    expect(socket?.timeout).toBe(0);
    response.on('error', () => undefined);
    sent.destroy();
  });

  test('a client that does not read loses the connection, and the agent goes on', async () => {
    const sent = get(url('/events?watch=true'));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const closed = new Promise((resolve) => response.once('close', resolve));
    response.on('error', () => undefined);
    for (let index = 0; index < 4_000; index += 1)
      events.event({ ...POD, name: `pod-${String(index)}` }, 'Normal', 'Pulled', 'x'.repeat(10_000));
    response.resume();
    await closed;
    expect(response.complete).toBe(false);
    expect(events.list()).toHaveLength(1_000);
  });

  const connections = () =>
    new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));
});

test('GET /node has capacity, allocatable and the conditions that are true', async () => {
  const node = JSON.parse((await ask('GET', '/node')).body) as object;
  expect(node).toMatchObject({
    kind: 'Node',
    metadata: { name: ROOMY_NODE.name },
    status: {
      allocatable: ROOMY_NODE.allocatable,
      conditions: [
        { type: 'MemoryPressure', status: 'True' },
        { type: 'katalyst.kubewharf.io/Hot', status: 'True' },
      ],
    },
  });
});

test('GET /node/object has the whole object', async () => {
  expect(JSON.parse((await ask('GET', '/node/object')).body)).toEqual({ metadata: { name: 'n' } });
});

test('GET /why describes the node, and a pod of which something is known', async () => {
  const told = async (path: string) => {
    const { status, body } = await ask('GET', path);
    return [status, status === 200 ? (JSON.parse(body) as { subject: string }).subject : body];
  };
  expect(await told('/why')).toEqual([200, 'node n']);
  expect(await told('/why/default/web')).toEqual([200, 'default/web']);
  expect(await told('/why/default/none')).toEqual([404, 'nothing is known of a pod default/none\n']);
});
