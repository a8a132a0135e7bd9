import { beforeEach, describe, expect, test } from '@jest/globals';
import { EventSender } from '../../../../src/agent/actors/cluster/event-sender.ts';
import { ApiError } from '../../../../src/agent/cluster/service/api-error.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import type { CoreEvent, Pod } from '../../../../src/types/kubernetes.ts';
import type { Logger } from '../../../../src/types/logger.ts';
import { testPod } from '../../../support/pods.ts';
import { noAnswer, refusal, ScriptedApi } from '../../../support/answering-api.ts';
import { silentLogger } from '../../../support/silent-logger.ts';
import { testContext } from '../../../support/test-context.ts';

const POD = { name: 'web', namespace: 'default', uid: 'uid-of-web' };
const NAME = 'web.1a46e83335d50000';

let api: ScriptedApi;
let clock: VirtualClock;
let nodeUID: string | undefined;
let pod: Pod | undefined;
let warnings: string[];
let events: EventSender;

beforeEach(() => {
  api = new ScriptedApi();
  clock = new VirtualClock();
  nodeUID = 'node-uid';
  pod = undefined;
  warnings = [];
  const logger: Logger = { ...silentLogger, warn: (_, message) => void warnings.push(message) };
  events = new EventSender(testContext({ clock, random: () => 0.5, logger }), {
    api,
    nodeName: 'node-1',
    nodeUID: () => nodeUID,
    podOf: () => pod,
    uuid: () => 'uuid',
  });
});

const backOff = (message = 'again') => events.event(POD, 'Warning', 'BackOff', message);
const sent = () => api.requests.splice(0).map(({ body }) => body as CoreEvent);

describe('what is sent', () => {
  test('an event is created in the namespace of its pod, with the source that the kubelet names', async () => {
    events.event(POD, 'Normal', 'Started', 'Container started', { container: 'main', attempt: 1 });
    await clock.advance(0);
    expect(api.requests).toEqual([
      { verb: 'create', path: '/api/v1/namespaces/default/events', body: expect.anything() },
    ]);
    expect(sent()).toMatchObject([
      {
        metadata: { name: NAME, namespace: 'default' },
        involvedObject: { kind: 'Pod', ...POD, fieldPath: 'spec.containers{main}' },
        source: { component: 'kubelet', host: 'node-1' },
        reportingComponent: 'kubelet',
        reportingInstance: 'node-1',
        reason: 'Started',
        count: 1,
      },
    ]);
  });

  test('the field path names the kind of the container', async () => {
    pod = { ...testPod(), spec: { containers: [{ name: 'main' }], initContainers: [{ name: 'setup' }] } };
    events.event(POD, 'Normal', 'Started', 'Container started', { container: 'setup' });
    await clock.advance(0);
    expect(sent()).toMatchObject([{ involvedObject: { fieldPath: 'spec.initContainers{setup}' } }]);
  });

  test('an event about the node is in the namespace default, with the UID of the node once that is known', async () => {
    nodeUID = undefined;
    events.nodeEvent('Normal', 'Starting', 'Starting kubelet.');
    nodeUID = 'node-uid';
    events.nodeEvent('Normal', 'NodeReady', 'Node node-1 status is now: NodeReady');
    await clock.advance(0);
    expect(sent().map(({ metadata, involvedObject }) => [metadata.namespace, involvedObject])).toEqual([
      ['default', { apiVersion: 'v1', kind: 'Node', name: 'node-1', uid: 'node-1' }],
      ['default', { apiVersion: 'v1', kind: 'Node', name: 'node-1', uid: 'node-uid' }],
    ]);
  });

  test('an event that happens again is a PATCH of the first one', async () => {
    backOff();
    await clock.advance(5_000);
    api.taken();
    backOff();
    await clock.advance(0);
    expect(api.requests).toEqual([
      {
        verb: 'patch',
        path: `/api/v1/namespaces/default/events/${NAME}`,
        body: { count: 2, lastTimestamp: '2030-01-01T00:00:05Z', message: 'again' },
      },
    ]);
  });

  test('if the server has forgotten the event, it is created with its count', async () => {
    backOff();
    await clock.advance(5_000);
    api.requests.splice(0);
    api.answer = ({ verb }) => {
      if (verb === 'patch') throw refusal('NotFound');
    };
    backOff();
    await clock.advance(0);
    expect(api.requests.map(({ verb }) => verb)).toEqual(['patch', 'create']);
    expect(sent().at(-1)).toMatchObject({ metadata: { name: NAME }, count: 2 });
    expect(warnings).toEqual([]);
  });

  test('two events of one millisecond have two names', async () => {
    backOff('first');
    backOff('second');
    await clock.advance(0);
    expect(sent().map(({ metadata }) => metadata.name)).toEqual([NAME, 'web.1a46e83335d50001']);
  });

  test('an event whose name would be too long gets a UUID as its name', async () => {
    events.event({ ...POD, name: 'a'.repeat(240) }, 'Normal', 'Killing', 'Stopping');
    await clock.advance(0);
    expect(sent()).toMatchObject([{ metadata: { name: 'uuid' } }]);
  });

  test('the reason why a pod waits is only logged, and not sent', async () => {
    events.event(POD, 'Normal', 'NameTaken', 'waits for default/web to end');
    await clock.advance(0);
    expect(api.requests).toEqual([]);
  });

  test('more than 25 events about one pod are spam, until five minutes have passed', async () => {
    for (let i = 0; i < 30; i += 1) events.event(POD, 'Warning', `Reason${i}`, 'again');
    await clock.advance(0);
    expect(sent()).toHaveLength(25);
    await clock.advance(5 * 60_000);
    events.event(POD, 'Warning', 'Reason40', 'again');
    await clock.advance(0);
    expect(sent()).toHaveLength(1);
  });
});

describe('a server that does not answer', () => {
  beforeEach(() => {
    api.answer = () => {
      throw noAnswer();
    };
  });

  test('gets twelve tries: the second after a random time, then one every ten seconds', async () => {
    const begun = clock.now();
    const times: number[] = [];
    api.answer = () => {
      times.push(clock.now() - begun);
      throw noAnswer();
    };
    backOff();
    await clock.advance(1_000_000);
    expect(times).toEqual([0, ...Array.from({ length: 11 }, (_, i) => 5_000 + i * 10_000)]);
    expect(warnings).toEqual([expect.stringContaining('could not be sent')]);
  });

  test('delays no event: they wait, and repetitions meanwhile become one report with its count', async () => {
    events.event(POD, 'Normal', 'Killing', 'Stopping container main');
    await clock.advance(0);
    for (let i = 0; i < 7; i += 1) backOff();
    api.answer = ({ body }) => body;
    api.requests.splice(0);
    await clock.advance(10_000);
    expect(sent()).toMatchObject([
      { reason: 'Killing', count: 1 },
      { reason: 'BackOff', count: 7 },
    ]);
  });

  test('an event that happens again while it is being sent is sent again, with its count', async () => {
    backOff();
    await clock.advance(0);
    backOff();
    api.answer = ({ body }) => body;
    api.requests.splice(0);
    await clock.advance(10_000);
    expect(sent()).toMatchObject([{ count: 1 }, { count: 2 }]);
  });

  test('leads to at most 1000 waiting events; newer ones are dropped', async () => {
    for (let i = 0; i < 1_100; i += 1)
      events.event({ ...POD, uid: `uid-${i}`, name: `web-${i}` }, 'Normal', 'Killing', 'Stopping');
    api.answer = ({ body }) => body;
    await clock.advance(10_000);
    const names = new Set(sent().map(({ involvedObject }) => involvedObject.name));
    expect([names.size, names.has('web-0'), names.has('web-1099')]).toEqual([1_000, true, false]);
  });

  test('a creation that was carried out is not a problem when it is sent again', async () => {
    backOff();
    await clock.advance(0);
    api.answer = () => {
      throw refusal('AlreadyExists');
    };
    await clock.advance(100_000);
    expect([api.requests.length, warnings]).toEqual([2, []]);
    api.answer = () => {
      throw refusal('Forbidden');
    };
    backOff('other');
    await clock.advance(0);
    expect(warnings).toEqual([expect.stringContaining('Forbidden')]);
  });
});

describe('a server that refuses', () => {
  test.each(['Forbidden', 'Invalid', 'TooManyRequests', 'InternalError'])(
    'gets no second try: %s',
    async (reason) => {
      api.answer = () => {
        throw refusal(reason);
      };
      backOff();
      await clock.advance(1_000_000);
      expect(api.requests).toHaveLength(1);
      expect(warnings).toEqual([expect.stringContaining('refused')]);
    },
  );

  // client-go's recorder says nothing of a namespace that is being terminated.
  test.each([
    ['is being deleted', { status: 403, reason: 'Forbidden', causes: ['NamespaceTerminating'] }],
    ['is gone', { status: 404, reason: 'NotFound' }],
  ])('for a namespace that %s is not logged, and does not hide another refusal', async (_, details) => {
    api.answer = () => {
      throw new ApiError('no namespace', details);
    };
    for (const message of ['a', 'b']) backOff(message);
    await clock.advance(1_000_000);
    expect([api.requests.length, warnings]).toEqual([2, []]);
    api.answer = () => {
      throw refusal('Forbidden');
    };
    backOff('c');
    await clock.advance(0);
    expect(warnings).toEqual([expect.stringContaining('refused')]);
  });

  test('is logged once, until the server accepts an event again', async () => {
    api.answer = () => {
      throw refusal('Forbidden');
    };
    for (const message of ['a', 'b', 'c']) backOff(message);
    await clock.advance(0);
    expect([api.requests.length, warnings.length]).toEqual([3, 1]);
  });
});

describe('an agent that ends', () => {
  test('sends the waiting events, and accepts no more', async () => {
    for (const message of ['a', 'b', 'c']) backOff(message);
    await events.stop();
    expect(sent().map(({ message }) => message)).toEqual(['a', 'b', 'c']);
    backOff('late');
    await clock.advance(1_000_000);
    expect([api.requests.length, clock.armed]).toEqual([0, 0]);
  });

  test('tries once more to send the events that wait for their next try', async () => {
    api.answer = () => {
      throw noAnswer();
    };
    backOff();
    await clock.advance(0);
    api.answer = () => ({});
    await events.stop();
    expect([api.requests.length, clock.armed]).toEqual([2, 0]);
  });

  test('does not wait for a server that does not answer', async () => {
    api.answer = () => {
      throw noAnswer();
    };
    for (const message of ['a', 'b', 'c']) backOff(message);
    await clock.advance(0);
    await events.stop();
    await clock.advance(1_000_000);
    expect([api.requests.length, clock.armed, warnings]).toEqual([2, 0, []]);
  });

  test('waits for a server that is slow, for two seconds', async () => {
    api.answer = (_, signal) =>
      new Promise((_, reject) => signal?.addEventListener('abort', () => reject(noAnswer())));
    for (const message of ['a', 'b', 'c']) backOff(message);
    await clock.advance(0);
    let isStopped = false;
    const stopped = events.stop().then(() => (isStopped = true));
    await clock.advance(1_999);
    expect(isStopped).toBe(false);
    await clock.advance(1);
    await stopped;
    expect([api.requests.length, clock.armed, warnings]).toEqual([1, 0, []]);
  });
});
