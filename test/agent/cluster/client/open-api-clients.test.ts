/** The client, with servers that answer what a test wants: HTTP/2, HTTP/1.1 over TLS, and HTTP/1.1. */
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { firstValueFrom, ReplaySubject, take, toArray } from 'rxjs';
import {
  type ApiClientsOptions,
  openApiClients,
} from '../../../../src/agent/cluster/client/open-api-clients.ts';
import type { ConnectionDetails } from '../../../../src/agent/cluster/service/api-server.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { errorMessage, StateletError } from '../../../../src/types/errors.ts';
import type { Node } from '../../../../src/types/kubernetes.ts';
import { FixedCredentials } from '../../../support/api/fixed-credentials.ts';
import {
  type BedAnswer,
  type BedProtocol,
  type BedRequest,
  bodyOf,
  breakOff,
  HttpBed,
  loopbackCertificates,
} from '../../../support/api/http-bed.ts';
import { RecordedMeasurements } from '../../../support/recorded-measurements.ts';
import { ObservedConnection } from '../../../support/api/observed-connection.ts';
import { waitFor } from '../../../support/wait-for.ts';

const NODE = { resource: 'nodes', name: 'n' } as const;
const OBJECT = { kind: 'Node', metadata: { name: 'n' } };
const WATCH = { resourceVersion: '5', timeoutSeconds: 60 };

type Script = (request: BedRequest, answer: BedAnswer) => void;

function send(answer: BedAnswer, status: number, body: object | string, headers: object = {}): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  answer.writeHead(status, { 'content-type': 'application/json', ...headers });
  answer.end(text);
}

describe.each<BedProtocol>(['h2', 'https', 'http'])('over %s', (protocol) => {
  let certificates: ReturnType<typeof loopbackCertificates>;
  const ends: (() => void | Promise<void>)[] = [];

  beforeAll(() => {
    certificates = loopbackCertificates();
  });
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });
  afterAll(() => certificates.remove());

  /** `script`: the answers, one after the other; the last one for all that follow. */
  async function serve(script: readonly Script[], options: Partial<ApiClientsOptions> = {}) {
    const requests: { method: string; url: string; headers: BedRequest['headers']; body: string }[] = [];
    const bed = await new HttpBed({ protocol, files: certificates.files }, (request, answer) => {
      const next = script[Math.min(requests.length, script.length - 1)];
      const { method = '', url = '', headers } = request;
      const kept = { method, url, headers, body: '' };
      requests.push(kept);
      void bodyOf(request)
        .then((body) => (kept.body = body))
        .catch(() => undefined);
      next?.(request, answer);
    }).open();
    const details: ConnectionDetails = { server: bed.url, ca: certificates.ca, headers: {} };
    const credentials = new FixedCredentials(details);
    const observer = new ObservedConnection();
    const clients = openApiClients(credentials, observer, {
      userAgent: 'statelet/test',
      env: {},
      ...options,
    });
    ends.push(
      () => bed.close(),
      () => clients.close(),
    );
    return { bed, requests, details, credentials, observer, ...clients };
  }

  test('requests go to the paths of the API server, and their bodies have kind and version', async () => {
    const { main, requests } = await serve([(_request, answer) => send(answer, 200, OBJECT)]);
    const lease = { resource: 'leases', namespace: 'kube-node-lease' } as const;
    await main.create(lease, { metadata: { name: 'n', namespace: 'kube-node-lease', uid: '' } });
    await main.patch({ ...NODE, subresource: 'status' }, { status: {} });
    await main.delete(
      { resource: 'pods', namespace: 'default', name: 'web' },
      { gracePeriodSeconds: 0, uid: 'u' },
    );
    await main.list({ resource: 'pods' }, { fieldSelector: 'spec.nodeName=n', resourceVersion: '0' });
    expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'POST /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases',
      'PATCH /api/v1/nodes/n/status',
      'DELETE /api/v1/namespaces/default/pods/web',
      'GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn&resourceVersion=0',
    ]);
    const [create, patch, remove] = requests;
    expect(JSON.parse(create?.body ?? '')).toMatchObject({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
    });
    expect(patch?.headers['content-type']).toBe('application/strategic-merge-patch+json');
    expect(JSON.parse(remove?.body ?? '')).toEqual({
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      gracePeriodSeconds: 0,
      preconditions: { uid: 'u' },
    });
    expect(patch?.headers['user-agent']).toBe('statelet/test');
  });

  test('the headers of the credentials go with each request, and the path of the server stands before its own', async () => {
    const { main, requests, credentials, details } = await serve([(_, answer) => send(answer, 200, OBJECT)]);
    credentials.change({
      ...details,
      server: `${details.server}/clusters/a/`,
      headers: { Authorization: 'Bearer x' },
    });
    await main.get(NODE);
    expect(requests[0]).toMatchObject({
      url: '/clusters/a/api/v1/nodes/n',
      headers: { authorization: 'Bearer x' },
    });
  });

  test('requests are measured by method, host and answer, and each try separately', async () => {
    const measurements = new RecordedMeasurements();
    const { main, details, bed } = await serve(
      [
        (_, answer) => send(answer, 503, { kind: 'Status' }, { 'retry-after': '0' }),
        (_, answer) => send(answer, 200, OBJECT),
      ],
      { measurements },
    );
    await main.get(NODE);
    const { host } = new URL(details.server);
    expect(measurements.told).toEqual([`GET ${host} 503`, `GET ${host} 200`]);
    await bed.close();
    await expect(main.update(NODE, { metadata: { name: 'n', uid: '' } })).rejects.toThrow();
    expect(measurements.told.at(-1)).toBe(`PUT ${host} no answer`);
  });

  test('a compressed answer is read', async () => {
    const packed = gzipSync(JSON.stringify(OBJECT));
    const { main, requests } = await serve([
      (_request, answer) => {
        answer.writeHead(200, { 'content-encoding': 'gzip' });
        answer.end(packed);
      },
    ]);
    expect(await main.get(NODE)).toEqual(OBJECT);
    expect(requests[0]?.headers['accept-encoding']).toBe('gzip');
  });

  test('requests of a client share connections, and the heartbeats have their own', async () => {
    const { main, events, heartbeats, bed } = await serve([(_, answer) => send(answer, 200, OBJECT)]);
    for (const server of [main, events, main, main]) await server.get(NODE);
    expect(bed.connections).toBe(1);
    await heartbeats.get(NODE);
    expect(bed.connections).toBe(2);
  });

  test('a refusal is an error with the reason of the server, and is not tried again', async () => {
    const status = {
      kind: 'Status',
      code: 409,
      reason: 'AlreadyExists',
      message: 'nodes "n" already exists',
    };
    const { main, requests, observer } = await serve([(_, answer) => send(answer, 409, status)]);
    await expect(main.create<Node>({ resource: 'nodes' }, { metadata: { name: 'n' } })).rejects.toMatchObject(
      {
        name: 'ApiError',
        status: 409,
        reason: 'AlreadyExists',
        kind: 'AlreadyExists',
        message: 'nodes "n" already exists',
      },
    );
    expect(requests).toHaveLength(1);
    expect(observer.heard).toEqual(['answered']);
  });

  test('an answer of something other than an API server is an error that shows it', async () => {
    const { main, observer } = await serve([(_, answer) => send(answer, 502, '<html>\nBad gateway</html>')]);
    await expect(main.get(NODE)).rejects.toMatchObject({
      status: 502,
      kind: 'Internal',
      message: 'GET /api/v1/nodes/n: the server answered 502: <html> Bad gateway</html>',
    });
    expect(observer.heard).toEqual(['answered']);
  });

  test.each([429, 503])(
    'after %d with Retry-After the request is repeated after that time',
    async (status) => {
      const later: Script = (_request, answer) => send(answer, status, {}, { 'retry-after': '0' });
      const { main, requests } = await serve([later, later, (_request, answer) => send(answer, 200, OBJECT)]);
      expect(await main.patch(NODE, { spec: {} })).toEqual(OBJECT);
      expect(requests.map(({ body }) => body)).toEqual([1, 2, 3].map(() => '{"spec":{}}'));
    },
  );

  test('a request that is only for now is not put off', async () => {
    const { main, requests } = await serve([
      (_request, answer) => send(answer, 429, {}, { 'retry-after': '0' }),
    ]);
    await expect(main.patch(NODE, { spec: {} }, { isOnlyForNow: true })).rejects.toMatchObject({
      status: 429,
    });
    expect(requests).toHaveLength(1);
  });

  test('a request that the server defers again and again fails, and so does one that it defers beyond the time limit', async () => {
    const { main, requests } = await serve([
      (_request, answer) => send(answer, 429, {}, { 'retry-after': requests.length > 11 ? '60' : '0' }),
    ]);
    await expect(main.get(NODE)).rejects.toMatchObject({ status: 429, retryAfterMs: 0 });
    expect(requests).toHaveLength(11);
    await expect(main.get(NODE, { timeoutMs: 30_000 })).rejects.toMatchObject({ retryAfterMs: 60_000 });
    expect(requests).toHaveLength(12);
  });

  test.each([429, 500, 503])('%d without Retry-After is final', async (status) => {
    const { main, requests } = await serve([(_request, answer) => send(answer, status, {})]);
    await expect(main.get(NODE)).rejects.toMatchObject({ status });
    expect(requests).toHaveLength(1);
  });

  test('half an answer is a failure: the request may have been carried out, and is not repeated', async () => {
    const half: Script = (_request, answer) => {
      answer.writeHead(200, { 'content-length': '100' });
      answer.write('{"kind": "Node", ');
      setTimeout(() => breakOff(answer), 10);
    };
    const { main, requests, observer } = await serve([half]);
    await expect(main.patch(NODE, {})).rejects.toMatchObject({ kind: 'Unavailable' });
    expect(requests).toHaveLength(1);
    expect(observer.heard).toEqual([expect.stringMatching(/^failed: PATCH \/api\/v1\/nodes\/n: /)]);
  });

  test('an answer that ends too early without a broken connection is a failure, too', async () => {
    const { main, observer } = await serve([(_, answer) => send(answer, 200, '{"kind": "Node", ')]);
    await expect(main.get(NODE)).rejects.toThrow(
      'GET /api/v1/nodes/n: the answer is not a whole JSON object, but 17 characters',
    );
    expect(observer.heard).toHaveLength(1);
  });

  test('a request has a time limit, and one that is cancelled is not a failure of the server', async () => {
    const { main, observer, requests } = await serve([() => undefined]);
    const message = 'GET /api/v1/nodes/n: no whole answer in 0.05 s';
    const refused = { kind: 'DeadlineExceeded', message };
    await expect(main.get(NODE, { timeoutMs: 50 })).rejects.toMatchObject(refused);
    expect(observer.heard).toEqual([`failed: ${message}`]);
    const stop = new AbortController();
    // On a busy machine the first one may not have been sent.
    const sent = requests.length;
    const cancelled = main.get(NODE, { signal: stop.signal });
    await waitFor(() => requests.length > sent, { what: 'another request' });
    stop.abort();
    await expect(cancelled).rejects.toMatchObject({ kind: 'Canceled' });
    expect(observer.heard).toHaveLength(1);
  });

  test('the time limit includes a slow body', async () => {
    const begin: Script = (_request, answer) => {
      answer.writeHead(200);
      answer.write('{');
    };
    const { main } = await serve([begin]);
    await expect(main.get(NODE, { timeoutMs: 50 })).rejects.toMatchObject({ kind: 'DeadlineExceeded' });
  });

  test('after all connections broke, the next request opens another', async () => {
    const { main, bed } = await serve([(_request, answer) => send(answer, 200, OBJECT)]);
    await main.get(NODE);
    bed.cut();
    expect(await main.get(NODE)).toEqual(OBJECT);
    expect(bed.connections).toBe(2);
  });

  test('a watch emits its events as they come, in whatever pieces', async () => {
    let answer: BedAnswer | undefined;
    const { main } = await serve([(_request, given) => void (answer = given)]);
    const events = new ReplaySubject<object>();
    main.watch({ resource: 'nodes' }, WATCH).subscribe(events);
    await waitFor(() => answer !== undefined, { what: 'the watch' });
    const lines = ['ADDED', 'MODIFIED', 'BOOKMARK'].map((type) => ({
      type,
      object: { metadata: { name: 'ä', resourceVersion: type } },
    }));
    const text = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    answer?.writeHead(200);
    const cut = text.indexOf(Buffer.from('ä')) + 1;
    answer?.write(text.subarray(0, cut));
    answer?.write(text.subarray(cut, text.length - 30));
    expect(await firstValueFrom(events.pipe(take(2), toArray()))).toEqual(lines.slice(0, 2));
    answer?.end(text.subarray(text.length - 30));
    expect(await firstValueFrom(events.pipe(toArray()))).toEqual(lines);
  });

  test('an event of type ERROR ends a watch with that error', async () => {
    const status = {
      kind: 'Status',
      code: 410,
      reason: 'Expired',
      message: 'too old resource version: 5 (9)',
    };
    const body = `${JSON.stringify({ type: 'ERROR', object: status })}\n`;
    const { main, observer } = await serve([(_request, answer) => send(answer, 200, body)]);
    await expect(firstValueFrom(main.watch({ resource: 'nodes' }, WATCH))).rejects.toMatchObject({
      status: 410,
      reason: 'Expired',
      kind: 'OutOfRange',
      message: 'too old resource version: 5 (9)',
    });
    expect(observer.heard).toEqual(['answered']);
  });

  test('a watch whose connection breaks fails, and so does one that ends within an event', async () => {
    const broken: Script = (_request, answer) => {
      answer.writeHead(200);
      answer.write('{"type":');
      setTimeout(() => breakOff(answer), 10);
    };
    const { main, observer } = await serve([broken, (_request, answer) => send(answer, 200, '{"type":')]);
    await expect(firstValueFrom(main.watch({ resource: 'nodes' }, WATCH))).rejects.toMatchObject({
      kind: 'Unavailable',
    });
    await expect(firstValueFrom(main.watch({ resource: 'nodes' }, WATCH))).rejects.toThrow(
      /the watch ended within an event/,
    );
    expect(observer.heard.map((text) => text.split(':')[0])).toEqual([
      'answered',
      'failed',
      'answered',
      'failed',
    ]);
  });

  test('a watch without a head is aborted sooner than a request without an answer', async () => {
    const clock = new VirtualClock();
    const { main, requests } = await serve([() => undefined], { clock });
    const watched = firstValueFrom(main.watch({ resource: 'nodes' }, WATCH)).catch(errorMessage);
    let isAnswered = false;
    const asked = main.get(NODE).catch(errorMessage);
    void asked.then(() => (isAnswered = true));
    await waitFor(() => requests.length === 2, { what: 'the requests' });
    await clock.advance(30_000);
    expect(await watched).toMatch(/no whole answer in 30 s/);
    expect(isAnswered).toBe(false);
    await clock.advance(40_000);
    expect(await asked).toMatch(/no whole answer in 70 s/);
  });

  test('a watch without a subscriber is closed, and emits nothing', async () => {
    const closed = Promise.withResolvers<undefined>();
    const { main, observer } = await serve([
      (_request, answer) => {
        answer.writeHead(200);
        answer.write('\n');
        answer.on('close', () => closed.resolve(undefined));
      },
    ]);
    const subscription = main.watch({ resource: 'nodes' }, WATCH).subscribe();
    await waitFor(() => observer.heard.length > 0, { what: 'the head of the answer' });
    subscription.unsubscribe();
    await closed.promise;
    expect(observer.heard).toEqual(['answered']);
  });

  test('with other credentials, what is under way ends on its connection, and watches end', async () => {
    let answer: BedAnswer | undefined;
    const slow: Script = (_request, given) => void (answer = given);
    const watch: Script = (_request, given) => {
      given.writeHead(200);
      given.write('\n');
    };
    const { main, bed, credentials, details, observer } = await serve([
      watch,
      slow,
      (_request, given) => send(given, 200, OBJECT),
    ]);
    const watched = firstValueFrom(main.watch({ resource: 'nodes' }, WATCH).pipe(toArray()));
    await waitFor(() => observer.heard.length > 0, { what: 'the watch' });
    const underWay = main.get(NODE);
    await waitFor(() => answer !== undefined, { what: 'the request' });
    const { connections } = bed;
    credentials.change({ ...details, tlsServerName: 'localhost' });
    expect(await watched).toEqual([]);
    await main.get(NODE);
    expect(bed.connections).toBe(connections + 1);
    if (answer !== undefined) send(answer, 200, OBJECT);
    expect(await underWay).toEqual(OBJECT);
  });

  test('requests beyond the burst wait for their turn; watches and heartbeats do not', async () => {
    const { main, heartbeats, requests } = await serve([(_, answer) => send(answer, 200, OBJECT)], {
      mainLimit: { perSecond: 0.001, burst: 2 },
    });
    await main.get(NODE);
    await main.get(NODE);
    const stop = new AbortController();
    const third = main.get(NODE, { signal: stop.signal });
    await heartbeats.get(NODE);
    await firstValueFrom(main.watch({ resource: 'nodes' }, WATCH).pipe(toArray())).catch(() => undefined);
    expect(requests).toHaveLength(4);
    stop.abort();
    await expect(third).rejects.toMatchObject({ kind: 'Canceled' });
  });

  test('a limit of 0 requests a second means no limit', async () => {
    const { main, requests } = await serve([(_, answer) => send(answer, 200, OBJECT)], {
      mainLimit: { perSecond: 0, burst: 1 },
    });
    await Promise.all([1, 2, 3].map(() => main.get(NODE)));
    expect(requests).toHaveLength(3);
  });

  test('after the client is closed, every request fails', async () => {
    const { main, close, observer, requests } = await serve([() => undefined]);
    const open = main.get(NODE);
    await waitFor(() => requests.length === 1, { what: 'the request' });
    close();
    await expect(open).rejects.toMatchObject({ kind: 'Canceled' });
    await expect(main.get(NODE)).rejects.toMatchObject({ kind: 'Canceled' });
    expect(observer.heard).toEqual([]);
  });

  test('credentials that cannot be read are a failure with their own message', async () => {
    const { main, credentials, observer } = await serve([(_, answer) => send(answer, 200, OBJECT)]);
    const problem = 'the exec plugin "login" of kubeconfig /etc/kubeconfig ended with 1';
    credentials.current = () => Promise.reject(new StateletError('Unauthenticated', problem));
    await expect(main.get(NODE)).rejects.toMatchObject({ kind: 'Unauthenticated' });
    expect(observer.heard).toEqual([`failed: GET /api/v1/nodes/n: ${problem}`]);
  });

  test('the time to load credentials counts in the time limit of the request', async () => {
    const { main, credentials } = await serve([(_, answer) => send(answer, 200, OBJECT)]);
    credentials.current = () => new Promise(() => undefined);
    await expect(main.get(NODE, { timeoutMs: 20 })).rejects.toMatchObject({ kind: 'DeadlineExceeded' });
  });
});
