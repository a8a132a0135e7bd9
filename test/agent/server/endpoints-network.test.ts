import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { startNetworkServer } from '../../../src/agent/server/endpoints.ts';
import {
  type ApiSources,
  STATE_ANNOTATION,
  WAITS_FOR_ANNOTATION,
} from '../../../src/agent/server/routes/local-routes.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const servedPod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'default', uid: 'u', annotations: { team: 'a' } },
  spec: { containers: [{ name: 'web' }] },
  status: { phase: 'Pending' },
};

async function start({ health, pods, summary }: Partial<ApiSources> = {}) {
  const sources: ApiSources = {
    health: health ?? (() => undefined),
    pods: pods ?? (() => []),
    ...(summary && { summary }),
  };
  const server = await startNetworkServer({ host: '127.0.0.1', port: 0, names: ['node-a'] }, sources);
  closing.push(() => server.close());
  return {
    server,
    get: (path: string, init?: RequestInit) => fetch(`http://${server.address}${path}`, init),
  };
}

describe('/healthz', () => {
  test('is 200 ok while the daemon is healthy', async () => {
    const { get } = await start();
    const response = await get('/healthz?verbose');
    expect([response.status, await response.text()]).toEqual([200, 'ok']);
  });

  test('is 500 with the reason when it is not', async () => {
    const { get } = await start({ health: () => 'the loop has not moved for 2m' });
    const response = await get('/healthz');
    expect([response.status, await response.text()]).toEqual([500, 'the loop has not moved for 2m\n']);
  });

  test('is 500 when the check itself throws', async () => {
    const { get } = await start({
      health: () => {
        throw new Error('defect');
      },
    });
    expect((await get('/healthz')).status).toBe(500);
    expect((await get('/pods')).status).toBe(200);
  });
});

describe('/stats/summary', () => {
  const asked: boolean[] = [];
  const summary: ApiSources['summary'] = ({ onlyCPUAndMemory }) => {
    asked.push(onlyCPUAndMemory);
    return Promise.resolve({ node: { nodeName: 'node' }, pods: [] });
  };

  test('is the Summary as JSON', async () => {
    const response = await (await start({ summary })).get('/stats/summary');
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(await response.json()).toEqual({ node: { nodeName: 'node' }, pods: [] });
  });

  test('has only CPU and memory when only_cpu_and_memory is given once, as true', async () => {
    const { get } = await start({ summary });
    asked.length = 0;
    const key = 'only_cpu_and_memory';
    for (const query of [`?${key}=true`, '', `?${key}`, `?${key}=1`, `?${key}=true&${key}=true`]) {
      await get(`/stats/summary${query}`);
    }
    expect(asked).toEqual([true, false, false, false, false]);
  });

  test('is 500 with the reason when the stats cannot be read', async () => {
    const { get } = await start({ summary: () => Promise.reject(new Error('no figures')) });
    const response = await get('/stats/summary');
    expect([response.status, await response.text()]).toEqual([500, 'no figures\n']);
  });

  test('is 404 without a stats provider', async () => {
    expect((await (await start()).get('/stats/summary')).status).toBe(404);
  });
});

describe('/pods', () => {
  test('is a v1 PodList with the computed status and the state of each chart', async () => {
    const { get } = await start({
      pods: () => [
        { pod: servedPod, status: { phase: 'Running' }, state: 'Syncing.Settled' },
        {
          pod: { ...servedPod, metadata: { ...servedPod.metadata, annotations: {} } },
          state: 'Syncing.Starting.AwaitingName',
        },
      ],
    });
    const response = await get('/pods');
    expect(response.headers.get('content-type')).toBe('application/json');
    const item = { metadata: servedPod.metadata, spec: servedPod.spec };
    expect(await response.json()).toEqual({
      kind: 'PodList',
      apiVersion: 'v1',
      metadata: {},
      items: [
        {
          ...item,
          metadata: {
            ...servedPod.metadata,
            annotations: { team: 'a', [STATE_ANNOTATION]: 'Syncing.Settled' },
          },
          status: { phase: 'Running' },
        },
        {
          ...item,
          metadata: {
            ...servedPod.metadata,
            annotations: { [STATE_ANNOTATION]: 'Syncing.Starting.AwaitingName' },
          },
          status: { phase: 'Pending' },
        },
      ],
    });
    expect(servedPod.metadata.annotations).toEqual({ team: 'a' });
  });

  test('shows what a pod that has not been started waits for', async () => {
    const waitsFor = 'waits for default/old (UID 1) to end: it has the same name';
    const { get } = await start({
      pods: () => [{ pod: servedPod, state: 'Syncing.Starting.AwaitingName', waitsFor }],
    });
    const { items } = (await (await get('/pods')).json()) as { items: Pod[] };
    expect(items[0]?.metadata.annotations?.[WAITS_FOR_ANNOTATION]).toBe(waitsFor);
  });

  test('with many pods is written in many turns of the event loop, with the pods of the first turn', async () => {
    let turns = 0;
    const count = () => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    let isOver = false;
    const turnOf: number[] = [];
    const names = Array.from({ length: 200 }, (_, index) => `pod-${index}`);
    const known = names.map((name) => ({
      state: 'Syncing.Settled',
      pod: {
        metadata: { ...servedPod.metadata, name },
        get spec() {
          turnOf.push(turns);
          known.length = 0;
          return servedPod.spec;
        },
      },
    }));
    const { get } = await start({ pods: () => known });
    setImmediate(count);
    const { items } = (await (await get('/pods')).json()) as { items: Pod[] };
    isOver = true;
    expect(items.map(({ metadata }) => metadata.name)).toEqual(names);
    expect(new Set(turnOf).size).toBeGreaterThanOrEqual(8);
  });

  test('without pods has an empty list of items', async () => {
    const { get } = await start();
    expect(await (await get('/pods')).json()).toMatchObject({ items: [] });
  });
});

const SECRET = 'hunter2';

const secretive: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'web',
    namespace: 'default',
    uid: 'u',
    annotations: {
      'kubectl.kubernetes.io/last-applied-configuration': `{"value":"${SECRET}"}`,
      'example.com/original-spec': JSON.stringify({ env: [{ name: 'A', value: SECRET }] }),
      team: 'a',
    },
  },
  spec: {
    imagePullSecrets: [{ name: SECRET }],
    volumes: [{ name: 'v', secret: { secretName: SECRET, defaultMode: 256 } }],
    containers: [
      {
        name: 'web',
        args: ['--verbose', `--password=${SECRET}`, '--token', SECRET],
        env: [{ name: 'PASSWORD', value: SECRET }],
        envFrom: [{ secretRef: { name: SECRET } }],
        livenessProbe: {
          httpGet: { port: 80, httpHeaders: [{ name: 'Authorization', value: SECRET }] },
        },
        lifecycle: {
          preStop: { exec: { command: ['sh', '-c', `curl -H "Authorization: Bearer ${SECRET}" x`] } },
        },
      },
    ],
  },
};

describe('secrets of containers', () => {
  test('are left out at the address, and the result is still a list of pods', async () => {
    const { get } = await start({ pods: () => [{ pod: secretive, state: 'Syncing.Settled' }] });
    const text = await (await get('/pods')).text();
    expect(text).not.toContain(SECRET);
    const [item] = (JSON.parse(text) as { items: Pod[] }).items;
    expect(item?.metadata.annotations).toEqual({
      team: 'a',
      'example.com/original-spec': '{"env":[{"name":"A","value":"***"}]}',
      [STATE_ANNOTATION]: 'Syncing.Settled',
    });
    expect(item?.spec).toEqual({
      imagePullSecrets: [{ name: '***' }],
      volumes: [{ name: 'v', secret: { secretName: '***', defaultMode: 256 } }],
      containers: [
        {
          name: 'web',
          args: ['--verbose', '--password=***', '--token', '***'],
          env: [{ name: 'PASSWORD', value: '***' }],
          envFrom: [{ secretRef: { name: '***' } }],
          livenessProbe: { httpGet: { port: 80, httpHeaders: [{ name: 'Authorization', value: '***' }] } },
          lifecycle: {
            preStop: { exec: { command: ['sh', '-c', 'curl -H "Authorization: Bearer ***" x'] } },
          },
        },
      ],
    });
  });
});

describe('the check of Host and Origin', () => {
  const ask = async (headers: Record<string, string>, path = '/pods') => {
    const { server } = await start();
    const sent = request({ host: '127.0.0.1', port: server.port, path, headers });
    const [response] = (await once(sent.end(), 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  };

  test.each([
    [{ host: 'rebound.example' }],
    [{ host: 'rebound.example:10248' }],
    [{ host: 'localhost.rebound.example' }],
    [{ host: '127.0.0.1.rebound.example' }],
    [{ host: 'a b' }],
    [{ host: '127.0.0.1', origin: 'https://example.com' }],
    [{ host: '127.0.0.1', origin: 'null' }],
    [{ host: 'rebound.example', origin: 'http://rebound.example' }],
    [{ host: '127.0.0.1:1', origin: 'http://127.0.0.1:2' }],
    [{ host: '127.0.0.1', 'sec-fetch-site': 'cross-site' }],
    [{ host: '127.0.0.1', 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' }],
  ])('refuses a request from a foreign page: %j', async (headers) => {
    for (const path of ['/pods', '/healthz', '/stats/summary', '/eviction', '/']) {
      expect(await ask(headers, path)).toBe(403);
    }
  });

  test.each([
    [{ host: '127.0.0.1:10248' }],
    [{ host: '[::1]:10248' }],
    [{ host: '10.0.0.7' }],
    [{ host: 'localhost:10248' }],
    [{ host: 'LOCALHOST.' }],
    [{ host: 'node-a:10248' }],
    [{ host: '127.0.0.1:1', origin: 'http://127.0.0.1:1' }],
  ])('accepts a request from another client: %j', async (headers) => {
    expect(await ask(headers)).toBe(200);
  });
});

describe('connections', () => {
  test('of clients that send nothing keep no other client out', async () => {
    const { server, get } = await start();
    const sockets = Array.from({ length: 200 }, () => connect(server.port, '127.0.0.1'));
    closing.push(() => sockets.forEach((socket) => socket.destroy()));
    const closed = sockets.map((socket) => {
      socket.on('error', () => undefined);
      return once(socket.resume(), 'close');
    });
    await Promise.all(closed.slice(0, 168));
    expect((await get('/healthz')).status).toBe(200);
    expect(sockets.filter((socket) => !socket.destroyed)).toHaveLength(31);
  });
});

describe('the server', () => {
  test('answers HEAD without a body', async () => {
    const { get } = await start();
    const response = await get('/healthz', { method: 'HEAD' });
    expect([response.status, response.headers.get('content-length'), await response.text()]).toEqual([
      200,
      '2',
      '',
    ]);
  });

  test('refuses methods that could change something', async () => {
    const { get } = await start();
    const response = await get('/pods', { method: 'DELETE' });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  test('lists the known paths when the path is unknown', async () => {
    const { get } = await start();
    const response = await get('/metrics');
    expect([response.status, await response.text()]).toEqual([404, expect.stringContaining('/pods')]);
  });

  test('closes while a client keeps its connection open, and frees the port', async () => {
    const { server, get } = await start();
    await (await get('/healthz')).text(); // Kept alive by fetch.
    const idle = connect(server.port, '127.0.0.1');
    await once(idle, 'connect');
    idle.on('error', () => undefined);
    idle.write('GET /healthz HTTP/1.1\r\n');
    await server.close();
    const again = createServer().listen(server.port, '127.0.0.1');
    await once(again, 'listening');
    again.close();
    idle.destroy();
  });

  test('names address and flag when the port or the address cannot be bound', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    closing.push(() => taken.close());
    const { port } = taken.address() as AddressInfo;
    const sources: ApiSources = { health: () => undefined, pods: () => [] };
    await expect(startNetworkServer({ host: '127.0.0.1', port }, sources)).rejects.toMatchObject({
      kind: 'FailedPrecondition',
      message: expect.stringMatching(`127.0.0.1:${port}: the port is in use.*--healthz-port`),
    });
    await expect(startNetworkServer({ host: '192.0.2.1', port: 0 }, sources)).rejects.toMatchObject({
      kind: 'FailedPrecondition',
      message: expect.stringContaining('--healthz-bind-address'),
    });
  });
});
