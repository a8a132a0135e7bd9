import '../../support/built.ts';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import type { PageNews } from '../../../src/types/page-views.ts';
import { PageBed, podRow } from '../../support/page-bed.ts';
import { waitFor } from '../../support/wait-for.ts';

const FOLDER = fileURLToPath(new URL('../../../dist/ui', import.meta.url));

let bed: PageBed;
const requests: ClientRequest[] = [];
beforeEach(async () => {
  bed = await new PageBed().open();
});
afterEach(async () => {
  for (const one of requests.splice(0)) one.destroy();
  await bed.close();
});

type Headers = Readonly<Record<string, string>>;

async function ask(path: string, headers: Headers = {}, method = 'GET'): Promise<IncomingMessage> {
  const sent = request(new URL(path, bed.url), { headers, method, agent: false }).end();
  sent.on('error', () => undefined);
  requests.push(sent);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

/** The messages of a stream, in order. */
class Stream {
  readonly news: PageNews[] = [];
  readonly response: IncomingMessage;

  constructor(response: IncomingMessage) {
    this.response = response;
    response.on('error', () => undefined);
    const lines = createInterface({ input: response });
    lines.on('error', () => undefined); // The stream has been ended.
    lines.on('line', (line) => {
      if (line.startsWith('data: ')) this.news.push(JSON.parse(line.slice(6)) as PageNews);
    });
  }

  async has(what: string, fits: (news: PageNews) => boolean): Promise<PageNews> {
    await waitFor(() => this.news.some(fits), { what });
    return this.news.find(fits)!;
  }
}

const stream = async (path: string) => new Stream(await ask(path));

describe('files', () => {
  test('the page allows no script, no style and no connection but its own', async () => {
    const { statusCode, headers } = await ask('/');
    expect(statusCode).toBe(200);
    const policy = headers['content-security-policy'] ?? '';
    expect(policy).toMatch(/^default-src 'none';/);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' });
    expect(await text(await ask('/'))).not.toMatch(/<script(?! type="module" src="\/)|style="|https?:\/\//);
  });

  test('the whole page is smaller than 200 kB', () => {
    const sizes = readdirSync(FOLDER).map((name) => statSync(`${FOLDER}/${name}`).size);
    expect(sizes.length).toBeGreaterThan(4);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(200_000);
  });

  test('another path is none', async () => {
    expect((await ask('/../package.json')).statusCode).toBe(404);
    expect((await ask('/ui/pod/default')).statusCode).toBe(404);
  });
});

describe('requests of foreign pages', () => {
  test.each([
    ['a foreign name of this machine', { Host: 'evil.example' }],
    ['a foreign page', { Origin: 'https://evil.example' }],
    ['an image of a foreign page', { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'no-cors' }],
  ])('%s gets nothing', async (_, headers: Headers) => {
    for (const path of ['/', '/charts.json', '/ui/overview', '/ui/pod/default/web', '/ui/chart/pod'].concat([
      ...['/ui/node', '/ui/charts', '/ui/gone'],
    ]))
      expect((await ask(path, headers)).statusCode).toBe(403);
    expect(bed.listeners.size).toBe(0);
  });

  test('a link on a foreign page leads to the page', async () => {
    const headers = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' };
    expect((await ask('/', headers)).statusCode).toBe(200);
  });

  test('nothing can be changed', async () => {
    expect((await ask('/ui/overview', {}, 'POST')).statusCode).toBe(405);
  });
});

describe('the stream of pods', () => {
  test('has all pods at first, then what changes, and ends with the client', async () => {
    for (let index = 0; index < 600; index += 1) bed.rows.set(`uid-p${index}`, podRow(`p${index}`));
    const seen = await stream('/ui/overview');
    const { news, response } = seen;
    await seen.has('the greeting', ({ type }) => type === 'hello');
    const rows = () => news.flatMap((one) => (one.type === 'pods' ? one.rows : []));
    await waitFor(() => rows().length === 600, { what: 'all rows' });
    bed.put(podRow('p7', { state: 'Terminating.Stopping' }));
    await waitFor(() => rows().at(-1)?.state === 'Terminating.Stopping', { what: 'the change' });
    expect(rows()).toHaveLength(601);
    bed.rows.delete('uid-p7');
    for (const { podChanged } of bed.listeners) podChanged('uid-p7');
    await seen.has('the end', (one) => one.type === 'pods' && one.gone.includes('uid-p7'));
    expect(bed.listeners.size).toBe(1);
    response.destroy();
    await waitFor(() => bed.listeners.size === 0, { what: 'the end of the watch' });
  });

  test('makes no rows for a browser that does not read, and then only the newest', async () => {
    const says = 'x'.repeat(20_000);
    for (let index = 0; index < 2000; index += 1)
      bed.rows.set(`uid-p${index}`, podRow(`p${index}`, { says }));
    const response = await ask('/ui/overview');
    let before = -1;
    await waitFor(
      () => {
        const isStill = bed.made === before && bed.made > 0;
        before = bed.made;
        return isStill;
      },
      { what: 'the server to wait', pauseMs: 500 },
    );
    expect(bed.made).toBeLessThan(2000);
    for (let restarts = 1; restarts <= 50; restarts += 1) bed.put(podRow('p0', { restarts }));
    const slow = new Stream(response);
    await slow.has(
      'the last change',
      (one) => one.type === 'pods' && one.rows.some(({ restarts }) => restarts === 50),
    );
    const changes = slow.news.flatMap((one) => (one.type === 'pods' ? one.rows : []));
    expect(changes.filter(({ restarts }) => restarts > 0 && restarts < 50)).toEqual([]);
  });
});

describe('the pace of the stream of pods', () => {
  test('is slower after many rows, and as before after few', async () => {
    const clock = new VirtualClock();
    await bed.close();
    bed = await new PageBed(clock).open();
    const seen = await stream('/ui/overview');
    await seen.has('the node', ({ type }) => type === 'hello');
    const change = (count: number) => {
      for (let index = 0; index < count; index += 1) bed.put(podRow(`p${index}`));
    };
    const madeWithin = async (ms: number) => {
      const before = bed.made;
      await clock.advance(ms);
      return bed.made - before;
    };
    change(1);
    expect(await madeWithin(250)).toBe(1);
    change(1);
    expect(await madeWithin(250)).toBe(1);
    change(100);
    expect(await madeWithin(250)).toBe(100);
    change(1);
    expect(await madeWithin(1_499)).toBe(0);
    expect(await madeWithin(1)).toBe(1);
    change(1);
    expect(await madeWithin(250)).toBe(1);
  });
});

describe('the streams of the node', () => {
  test('measure the node only while a page shows it, and send the recorded changes of its pressure', async () => {
    const clock = new VirtualClock();
    await bed.close();
    bed = await new PageBed(clock).open();
    const kind = { chart: 'eviction', actor: 'eviction', event: 'EVALUATED', actions: [], atMs: 1 };
    const state = (memory: string) => `Pass.Observing,Pressure.Memory.${memory},Disk.Absent`;
    const pressed = { ...kind, from: state('Absent'), to: state('Present.Observed') };
    bed.recorded = [pressed, { ...kind, from: `Pass.Ranking,${pressed.to}`, to: pressed.to }];
    bed.explanation = { conditions: [], thresholds: [] };
    const seen = await stream('/ui/node');
    await seen.has('the start', (one) => one.type === 'pressure' && one.pressure === null);
    await clock.advance(1_000);
    await seen.has('the figures', (one) => one.type === 'pressure' && one.pressure !== null);
    const past = await seen.has('the record', ({ type }) => type === 'past');
    expect(past).toMatchObject({ transitions: [pressed] });
    const before = bed.measured;
    await clock.advance(10_000);
    expect(bed.measured).toBe(before + 1);
    seen.response.destroy();
    await waitFor(() => bed.listeners.size === 0, { what: 'the end of the watch' });
    await clock.advance(60_000);
    expect(bed.measured).toBe(before + 1);
  });

  test('say again only what has changed', async () => {
    const clock = new VirtualClock();
    await bed.close();
    bed = await new PageBed(clock).open();
    const activity = { chart: 'probe', actors: 1, states: [{ state: 'Idle', count: 1, actor: 'a' }] };
    bed.charts = [activity];
    const seen = await stream('/ui/charts');
    await seen.has('the charts', ({ type }) => type === 'charts');
    await clock.advance(3_000);
    bed.charts = [{ ...activity, actors: 2 }];
    await clock.advance(60_000);
    await seen.has('the change', (one) => one.type === 'charts' && one.charts[0]?.actors === 2);
    expect(seen.news).toHaveLength(2);
  });
});

describe('the stream of a pod', () => {
  test('leaves out the values of the environment', async () => {
    const env = [{ name: 'PASSWORD', value: 'geheim' }];
    const row = podRow('web');
    const metadata = { name: 'web', namespace: 'default', uid: row.uid };
    const spec = { containers: [{ name: 'main', image: 'web', env, args: ['--token=geheim'] }] };
    bed.pod = { row, sentences: [], pod: { metadata, spec }, status: undefined, events: [] };
    const seen = await stream('/ui/pod/default/web');
    const news = JSON.stringify(await seen.has('the pod', ({ type }) => type === 'pod'));
    expect(news).toContain('"name":"PASSWORD"');
    expect(news).not.toContain('geheim');
  });

  test('has its transitions and none of others', async () => {
    bed.pod = {
      row: podRow('web'),
      sentences: [],
      pod: { metadata: {}, spec: {} } as never,
      status: undefined,
      events: [],
    };
    const seen = await stream('/ui/pod/default/web');
    await seen.has('the pod', ({ type }) => type === 'pod');
    const kind = { atMs: 1, chart: 'pod', event: 'E', from: 'A', to: 'B', actions: [] };
    for (const actor of ['web_default uid-web', 'web_other uid-2', 'web-2_default uid-3', 'probe uid-web'])
      for (const { transition } of bed.listeners) transition?.({ ...kind, actor });
    const news = await seen.has('transitions', ({ type }) => type === 'transitions');
    const actors = news.type === 'transitions' ? news.transitions.map(({ actor }) => actor) : [];
    expect(actors).toEqual(['web_default uid-web', 'probe uid-web']);
  });

  test('begins with its earlier records, without those that change nothing', async () => {
    const kind = { chart: 'pod', event: 'E', from: 'A', to: 'B', actions: [] };
    const probe = { ...kind, chart: 'probe', actor: 'web_default main readiness uid-web', event: 'PROBED' };
    bed.recorded = [
      { ...kind, atMs: 1, actor: 'web_default uid-web' },
      { ...kind, atMs: 2, actor: 'api_default uid-api' },
      { ...probe, atMs: 3 },
      { ...probe, atMs: 4, guard: 'changesResult' },
      // It comes live.
      { ...kind, atMs: Date.now() + 60_000, actor: 'web_default uid-web' },
    ];
    const seen = await stream('/ui/pod/default/web');
    const news = await seen.has('the past', ({ type }) => type === 'past');
    expect(news.type === 'past' && news.transitions.map(({ atMs }) => atMs)).toEqual([1, 4]);
  });

  test('has the last events of one that has gone between two messages', async () => {
    const row = podRow('web');
    const pod = { metadata: {}, spec: {} } as never;
    bed.pod = { row, sentences: [], pod, status: undefined, events: [] };
    const seen = await stream('/ui/pod/default/web');
    await seen.has('the pod', ({ type }) => type === 'pod');
    bed.events = [{ metadata: { name: 'e' }, reason: 'Killing', involvedObject: { uid: row.uid } }];
    bed.pod = undefined;
    for (const { podChanged } of bed.listeners) podChanged(row.uid);
    const news = await seen.has('its end', (one) => one.type === 'pod' && one.pod === null);
    expect(news).toMatchObject({ events: [{ reason: 'Killing' }] });
  });

  test('says what is known of one that is not here', async () => {
    const seen = await stream('/ui/pod/default/gone');
    const news = await seen.has('the answer', ({ type }) => type === 'pod');
    expect(news).toEqual({ type: 'pod', pod: null, sentences: ['Nothing is known of default/gone.'] });
    const recorded = await seen.has('the record', (one) => one.type === 'pod' && one.end !== undefined);
    const end = { status: 'Error', kind: 'failed' };
    expect(recorded).toEqual({ ...news, sentences: ['The record has default/gone.'], end });
  });

  test('keeps the newest transitions of a chart, and counts those that it drops', async () => {
    const seen = await stream('/ui/chart/lease');
    await seen.has('the actors', ({ type }) => type === 'actors');
    const kind = { chart: 'lease', actor: 'lease', event: 'E', from: 'A', to: 'B', actions: [] };
    for (let atMs = 0; atMs < 600; atMs += 1)
      for (const { transition } of bed.listeners) transition?.({ ...kind, atMs });
    const news = await seen.has('transitions', ({ type }) => type === 'transitions');
    expect(news).toMatchObject({ lost: 100 });
    expect(news.type === 'transitions' && news.transitions.at(-1)?.atMs).toBe(599);
  });
});

test('warns where others than this machine can reach it', async () => {
  expect(bed.warnings).toEqual([]);
  const open = await new PageBed().open('0.0.0.0');
  await open.close();
  expect(open.warnings).toEqual([expect.stringContaining('without a password')]);
});

test('refuses more streams than a machine with some browsers needs', async () => {
  for (let index = 0; index < 24; index += 1) expect((await ask('/ui/overview')).statusCode).toBe(200);
  expect((await ask('/ui/overview')).statusCode).toBe(503);
});
