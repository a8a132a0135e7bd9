import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { WebSocket } from 'ws';
import { assign, createActor, setup, stopChild } from 'xstate';
import {
  INSPECTOR_PAGE,
  type RunningInspector,
  startInspector,
} from '../../../src/agent/server/inspector.ts';
import { describeInBrowser } from '../../support/browser.ts';
import { warnings } from '../../support/warnings.ts';

const logger = pino({ level: 'silent' });
const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

type Message = Record<string, unknown> & { type: string; snapshot?: { value?: unknown; context?: unknown } };

class Client {
  readonly messages: Message[] = [];
  readonly socket: WebSocket;
  constructor(inspector: RunningInspector, origin?: string) {
    this.socket = new WebSocket(inspector.url.replace('http', 'ws'), origin === undefined ? {} : { origin });
    this.socket.on('message', (data: Buffer) => {
      this.messages.push(JSON.parse(data.toString()) as Message);
      this.socket.emit('arrived');
    });
    closing.push(() => this.socket.terminate());
  }
  /** The first message that matches; waits for it if it has not come yet. */
  async find(fits: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const found = this.messages.find(fits);
      if (found !== undefined) return found;
      await once(this.socket, 'arrived');
    }
  }
}

async function start(): Promise<RunningInspector> {
  const inspector = await startInspector({ host: '127.0.0.1', port: 0, logger });
  closing.push(() => inspector.close());
  return inspector;
}

const child = setup({}).createMachine({
  id: 'pod',
  initial: 'Syncing',
  states: { Syncing: { on: { KILL: 'Gone' } }, Gone: { type: 'final' } },
});
const machine = setup({
  types: {
    context: {} as { pods: unknown[] },
    events: {} as { type: 'ADD'; pod: unknown } | { type: 'STOP' },
  },
  actors: { child },
}).createMachine({
  id: 'node',
  context: { pods: [] },
  invoke: { src: 'child', id: 'default/web' },
  on: {
    ADD: { actions: assign({ pods: ({ context, event }) => [...context.pods, event.pod] }) },
    STOP: { actions: stopChild('default/web') },
  },
});

const pod = {
  metadata: {
    name: 'web',
    annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{"value":"hunter2"}', team: 'a' },
  },
  spec: {
    containers: [
      {
        name: 'c',
        env: [{ name: 'PASSWORD', value: 'hunter2' }],
        envFrom: [{ secretRef: { name: 'hunter2' } }],
      },
    ],
    imagePullSecrets: [{ name: 'hunter2' }],
    volumes: [{ name: 'v', secret: { secretName: 'hunter2' } }],
  },
};

type Node = ReturnType<typeof run>;

function run(inspector: RunningInspector) {
  const actor = createActor(machine, { inspect: inspector.inspect });
  actor.start();
  closing.push(() => void actor.stop());
  return actor;
}

describe('the inspector', () => {
  test('sends a new client the present state of every actor, children included', async () => {
    const inspector = await start();
    const actor = run(inspector);
    actor.send({ type: 'ADD', pod: { name: 'early' } });
    const client = new Client(inspector);
    const root = await client.find(({ type, name }) => type === '@xstate.actor' && name === 'node');
    expect(root.snapshot?.context).toEqual({ pods: [{ name: 'early' }] });
    const web = await client.find(({ type, name }) => type === '@xstate.actor' && name === 'default/web');
    expect(web).toMatchObject({ parentId: root.sessionId, snapshot: { value: 'Syncing' } });
    expect(JSON.parse(String(web.definition))).toMatchObject({ id: 'pod', initial: 'Syncing' });
  });

  test('shows only the actors of the pods in the query, to clients that connect before or after', async () => {
    const inspector = await startInspector({ host: '127.0.0.1', port: 0, logger, only: ['web_default'] });
    closing.push(() => inspector.close());
    const early = new Client(inspector);
    await once(early.socket, 'open');
    for (const id of [
      'web_default uid-1',
      'web2_default uid-2',
      'web_default main Liveness uid-1',
      'supervisor',
    ]) {
      const actor = createActor(child, { id, inspect: inspector.inspect }).start();
      closing.push(() => void actor.stop());
      actor.send({ type: 'KILL' });
    }
    const last = createActor(child, {
      id: 'preemption web_default uid-1',
      inspect: inspector.inspect,
    }).start();
    closing.push(() => void last.stop());
    const late = new Client(inspector);
    for (const client of [early, late])
      await client.find(({ name }) => name === 'preemption web_default uid-1');
    const actors = ({ messages }: Client) =>
      new Set(messages.filter(({ type }) => type === '@xstate.actor').map(({ name }) => name));
    expect([...actors(early)]).toEqual([
      'web_default uid-1',
      'web_default main Liveness uid-1',
      'preemption web_default uid-1',
    ]);
    // Those before have ended.
    expect([...actors(late)]).toEqual(['preemption web_default uid-1']);
    expect(new Set(early.messages.map(({ sessionId }) => sessionId)).size).toBe(3);
  });

  test('sends events and snapshots as they happen', async () => {
    const inspector = await start();
    const actor = run(inspector);
    const client = new Client(inspector);
    await client.find(({ type }) => type === '@xstate.actor');
    actor.getSnapshot().children['default/web']?.send({ type: 'KILL' });
    const event = await client.find(
      (message) => message.type === '@xstate.event' && (message.event as { type: string }).type === 'KILL',
    );
    const snapshot = await client.find(
      (message) => message.type === '@xstate.snapshot' && message.sessionId === event.sessionId,
    );
    expect(snapshot.snapshot).toMatchObject({ status: 'done', value: 'Gone' });
  });

  test.each([
    ['ended by itself', (actor: Node) => actor.getSnapshot().children['default/web']?.send({ type: 'KILL' })],
    ['was stopped', (actor: Node) => actor.send({ type: 'STOP' })],
  ])('does not send a new client an actor that %s before', async (_, end) => {
    const inspector = await start();
    const actor = run(inspector);
    end(actor);
    const client = new Client(inspector);
    await client.find(({ type, name }) => type === '@xstate.actor' && name === 'node');
    actor.send({ type: 'ADD', pod: 'last' });
    await client.find(({ type }) => type === '@xstate.event');
    expect(client.messages.filter(({ type }) => type === '@xstate.actor').map(({ name }) => name)).toEqual([
      'node',
    ]);
  });

  test('leaves out environment values and secrets, in contexts and in events', async () => {
    const inspector = await start();
    const actor = run(inspector);
    actor.send({ type: 'ADD', pod });
    const client = new Client(inspector);
    const root = await client.find(({ type, name }) => type === '@xstate.actor' && name === 'node');
    actor.send({ type: 'ADD', pod });
    const event = await client.find(({ type }) => type === '@xstate.event');
    const snapshot = await client.find(({ type }) => type === '@xstate.snapshot');
    expect(JSON.stringify(client.messages)).not.toContain('hunter2');
    const shown = {
      metadata: { name: 'web', annotations: { team: 'a' } },
      spec: {
        containers: [
          { name: 'c', env: [{ name: 'PASSWORD', value: '***' }], envFrom: [{ secretRef: { name: '***' } }] },
        ],
        imagePullSecrets: [{ name: '***' }],
        volumes: [{ name: 'v', secret: { secretName: '***' } }],
      },
    };
    expect(root.snapshot?.context).toEqual({ pods: [shown] });
    expect(event.event).toEqual({ type: 'ADD', pod: shown });
    expect(snapshot.snapshot?.context).toEqual({ pods: [shown, shown] });
  });

  test('serialises nothing without a client', async () => {
    const inspector = await start();
    const actor = run(inspector);
    let serialised = 0;
    const spy = { toJSON: () => (serialised += 1) };
    actor.send({ type: 'ADD', pod: spy });
    const client = new Client(inspector);
    await client.find(({ type }) => type === '@xstate.actor');
    expect(serialised).toBe(1); // Once for the new client, and not for the event and the snapshot before.
  });

  test.each([
    ['a foreign page', 'https://example.com'],
    ['a page whose name resolves to this machine', 'rebound'],
    ['no URL at all', 'null'],
  ])('refuses %s', async (_, origin) => {
    const inspector = await start();
    const { port } = new URL(inspector.url);
    const client = new Client(inspector, origin === 'rebound' ? `http://rebound.example:${port}` : origin);
    const [error] = (await once(client.socket, 'error')) as [Error];
    expect(error.message).toMatch(/401/);
  });

  test('refuses a host name that is not of this machine', async () => {
    const inspector = await start();
    const { port } = new URL(inspector.url);
    const socket = new WebSocket(inspector.url.replace('http', 'ws'), {
      headers: { host: `rebound.example:${port}` },
    });
    const [error] = (await once(socket, 'error')) as [Error];
    expect(error.message).toMatch(/401/);
    const asked = request(inspector.url, { headers: { host: `rebound.example:${port}` } }).end();
    const [page] = (await once(asked, 'response')) as [IncomingMessage];
    expect([page.statusCode, await text(page)]).toEqual([403, expect.stringMatching(/^refused: Host/)]);
  });

  test('warns when clients of other machines can reach it', async () => {
    const { logger: told, messages } = warnings();
    const inspector = await startInspector({ host: '0.0.0.0', port: 0, logger: told });
    closing.push(() => inspector.close());
    expect(messages).toEqual([
      expect.stringMatching(/^anyone who can reach 0\.0\.0\.0:\d+ sees every actor/),
    ]);
  });

  test('serves its page', async () => {
    const inspector = await start();
    expect(await (await fetch(inspector.url)).text()).toContain('<title>Statelet inspector</title>');
  });

  test('accepts its own page', async () => {
    const inspector = await start();
    run(inspector);
    const client = new Client(inspector, inspector.url);
    await expect(client.find(({ type }) => type === '@xstate.actor')).resolves.toBeDefined();
  });

  test('names flag and address when its port is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    closing.push(() => void taken.close());
    const { port } = taken.address() as AddressInfo;
    await expect(startInspector({ host: '127.0.0.1', port, logger })).rejects.toMatchObject({
      kind: 'FailedPrecondition',
      message: expect.stringMatching(`127.0.0.1:${port}: the port is in use.*--inspect`),
    });
  });
});

test('the page opens its socket when the inspector is ready, and posts the messages to it', () => {
  const page = INSPECTOR_PAGE;
  expect(page).toContain('src="https://stately.ai/inspect"');

  const sockets: PageSocket[] = [];
  const posted: unknown[] = [];
  const contentWindow = { postMessage: (data: unknown, origin: string) => posted.push({ data, origin }) };
  const waiting = { hidden: false };
  const listeners: ((message: object) => void)[] = [];
  class PageSocket {
    readonly url: string;
    closed = false;
    onmessage?: (message: { data: string }) => void;
    constructor(url: string) {
      this.url = url;
      sockets.push(this);
    }
    close(): void {
      this.closed = true;
    }
  }
  runInNewContext(/<script>(.*)<\/script>/su.exec(page)?.[1] ?? '', {
    document: { getElementById: (id: string) => (id === 'waiting' ? waiting : { contentWindow }) },
    location: { host: 'localhost:1' },
    addEventListener: (_: string, listener: (message: object) => void) => listeners.push(listener),
    WebSocket: PageSocket,
  });
  const [hear] = listeners;
  const connected = {
    source: contentWindow,
    origin: 'https://stately.ai',
    data: { type: '@statelyai.connected' },
  };

  hear?.({ ...connected, origin: 'https://stately.ai.example' });
  hear?.({ ...connected, source: {} });
  hear?.({ ...connected, data: { type: 'other' } });
  expect(sockets).toEqual([]);
  expect(waiting.hidden).toBe(false);

  hear?.(connected);
  expect(waiting.hidden).toBe(true);
  sockets[0]?.onmessage?.({ data: '{"type":"@xstate.actor"}' });
  expect(posted).toEqual([{ data: { type: '@xstate.actor' }, origin: 'https://stately.ai' }]);
  expect(sockets[0]?.url).toBe('ws://localhost:1');

  hear?.(connected); // After a reload: a new socket gets all actors again.
  expect(sockets.map(({ closed }) => closed)).toEqual([true, false]);
});

describeInBrowser('without the web site of the inspector', (browser) => {
  test('the page says what is missing, and which page works without other sites', async () => {
    const logger = pino({ level: 'silent' });
    const inspector = await startInspector({ host: '127.0.0.1', port: 0, logger });
    const page = await browser.newPage();
    try {
      await page.route('https://stately.ai/**', (route) => route.abort());
      await page.goto(inspector.url);
      const text = await page.getByRole('status').innerText();
      expect(text).toMatch(/this browser has to reach https:\/\/stately\.ai/);
      expect(text).toMatch(/statelet run --ui/);
    } finally {
      await page.close();
      await inspector.close();
    }
  });
});
