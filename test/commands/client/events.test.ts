import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { events, type EventsFlags } from '../../../src/commands/client/events.ts';
import { RecentEvents } from '../../../src/agent/server/recent-events.ts';
import { ownerRoutes } from '../../../src/agent/server/routes/owner-routes.ts';
import { ROOMY_NODE } from '../../support/admission.ts';
import { NO_MANIFESTS, type OwnerSocket, ownerSocket } from '../../support/owner-socket.ts';
import { waitFor } from '../../support/wait-for.ts';

const START = Date.UTC(2026, 0, 1);
const WEB = { name: 'web-node-a', namespace: 'default', uid: 'uid-web' };
const PROXY = { name: 'proxy-node-a', namespace: 'kube-system', uid: 'uid-proxy' };

let nowMs: number;
let recent: RecentEvents;
let socket: OwnerSocket;
beforeEach(async () => {
  nowMs = START;
  recent = new RecentEvents({ nodeName: 'node-a', now: () => nowMs, podOf: () => undefined });
  socket = await ownerSocket(
    ownerRoutes({
      ...NO_MANIFESTS,
      events: recent,
      node: () => Promise.resolve({ metadata: { name: 'n' } }),
      nodeFacts: () => ROOMY_NODE,
      pod: () => undefined,
      deletePod: () => Promise.resolve(undefined),
      podEnded: () => Promise.resolve(),
      whyPod: () => Promise.resolve(undefined),
      whyNode: () => ({ subject: '', state: '', sentences: [] }),
    }),
  );
});
afterEach(async () => socket.close());

function fill(): void {
  recent.event(PROXY, 'Normal', 'Pulled', 'Pulled the image');
  recent.event(WEB, 'Warning', 'BackOff', 'Back-off\n  restarting');
  recent.nodeEvent('Normal', 'NodeReady', 'ready');
  nowMs += 60_000;
  recent.event(WEB, 'Warning', 'BackOff', 'Back-off\n  restarting');
  nowMs += 5_000;
}

async function shown(flags: EventsFlags = {}): Promise<string> {
  let text = '';
  await events({ ...flags, rootDir: socket.rootDir }, (part) => (text += part), { now: () => nowMs });
  return text;
}

describe('the table', () => {
  test('has the newest event last; one that happened again has its count', async () => {
    fill();
    expect(await shown()).toBe(
      [
        'NAMESPACE     LAST SEEN          TYPE      REASON      OBJECT             MESSAGE',
        'kube-system   65s                Normal    Pulled      Pod/proxy-node-a   Pulled the image',
        'default       65s                Normal    NodeReady   Node/node-a        ready',
        'default       5s (x2 over 65s)   Warning   BackOff     Pod/web-node-a     Back-off restarting',
        '',
      ].join('\n'),
    );
  });

  test('names the container of an event, where its message does not', async () => {
    recent.event(WEB, 'Normal', 'Created', 'Container created', { container: 'main' });
    recent.event(WEB, 'Normal', 'Killing', 'Stopping container main', { container: 'main' });
    const messages = (await shown({ headers: false }))
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {3,}/u).at(-1));
    expect(messages).toEqual(['main: Container created', 'Stopping container main']);
  });

  test('of one namespace has no column for it', async () => {
    fill();
    expect(await shown({ namespace: 'kube-system' })).toBe(
      [
        'LAST SEEN   TYPE     REASON   OBJECT             MESSAGE',
        '65s         Normal   Pulled   Pod/proxy-node-a   Pulled the image',
        '',
      ].join('\n'),
    );
  });

  test('without events says so', async () => {
    expect(await shown()).toBe('No events.\n');
  });
});

describe('what is shown', () => {
  const reasons = async (flags: EventsFlags) =>
    (await shown({ ...flags, headers: false }))
      .split('\n')
      .filter(Boolean)
      .map((line) => /(Pulled|BackOff|NodeReady)/.exec(line)?.[1])
      .join();

  test.each([
    [{ for: 'pod/web' }, 'BackOff'],
    [{ for: 'pod/web-node-a' }, 'BackOff'],
    [{ for: 'kube-system/proxy' }, 'Pulled'],
    [{ for: 'node/node-a' }, 'NodeReady'],
    [{ for: 'pod/web', namespace: 'kube-system' }, undefined],
    [{ types: 'Warning' }, 'BackOff'],
    [{ types: 'Normal,Warning' }, 'Pulled,NodeReady,BackOff'],
  ] as const)('%j', async (flags, expected) => {
    fill();
    expect(await reasons(flags)).toBe(expected ?? '');
  });

  test.each([
    [{ for: 'web' }, '--for: "web" is not of the form pod/NAME or node/NAME'],
    [{ types: 'Warn' }, '--types: "Warn" is none of Normal, Warning'],
  ])('%j is refused', async (flags, message) => {
    await expect(shown(flags)).rejects.toMatchObject({ kind: 'InvalidArgument', message });
  });
});

test('JSON is a list of events of the Kubernetes API', async () => {
  fill();
  expect(JSON.parse(await shown({ output: 'json', for: 'pod/web' }))).toMatchObject({
    kind: 'EventList',
    apiVersion: 'v1',
    items: [{ kind: 'Event', reason: 'BackOff', count: 2 }],
  });
});

describe('a watch', () => {
  function watch(flags: EventsFlags = {}) {
    const stop = new AbortController();
    const output = { text: '' };
    const done = events(
      { ...flags, watch: true, rootDir: socket.rootDir },
      (part) => {
        output.text += part;
      },
      { signal: stop.signal, now: () => nowMs },
    );
    return { output, done, stop };
  }

  test('shows what was there, then what comes, each once, until it is stopped', async () => {
    recent.event(WEB, 'Normal', 'Pulled', 'Pulled the image');
    const { output, done, stop } = watch({ namespace: 'default' });
    await waitFor(() => output.text.includes('Pulled'), { what: 'the first event' });
    recent.event(WEB, 'Normal', 'Started', 'Container started');
    recent.event(PROXY, 'Normal', 'Started', 'Container started');
    await waitFor(() => output.text.includes('Started'), { what: 'the second event' });
    stop.abort();
    await done;
    expect(output.text.trim().split('\n')).toEqual([
      'LAST SEEN   TYPE     REASON   OBJECT           MESSAGE',
      '0s          Normal   Pulled   Pod/web-node-a   Pulled the image',
      '0s          Normal   Started   Pod/web-node-a   Container started',
    ]);
  });

  test('that has not been stopped says when the daemon ends', async () => {
    const { output, done } = watch();
    recent.event(WEB, 'Normal', 'Pulled', 'x');
    await waitFor(() => output.text.includes('Pulled'), { what: 'the first event' });
    await socket.close();
    await expect(done).rejects.toThrow();
    socket = await ownerSocket([]);
  });
});
