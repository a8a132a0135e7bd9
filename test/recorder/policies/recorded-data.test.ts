import { describe, expect, test } from '@jest/globals';
import { RecordWriter } from '../../../src/recorder/policies/record-format.ts';
import { type RecordEntry, RecordReader } from '../../../src/recorder/policies/record-reader.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import type { ActorStep, TransitionKind } from '../../../src/types/transition.ts';

const WEB = 'web_default uid-1';
const KIND: TransitionKind = {
  chart: 'pod',
  event: 'SyncPodUpdate',
  from: 'A',
  to: 'A',
  actions: ['record'],
};
const SECRET = 's3cret';

function podOf(phase: string): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'web',
      namespace: 'default',
      uid: 'uid-1',
      deletionTimestamp: '2026-01-01T00:00:00Z',
      deletionGracePeriodSeconds: 7,
      labels: { password: SECRET },
      annotations: { 'kubernetes.io/config.source': 'file', 'example.com/token': SECRET },
    },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 9,
      containers: [
        {
          name: 'main',
          image: 'web:1',
          command: ['serve', SECRET],
          env: [{ name: 'PASSWORD', value: SECRET }],
          livenessProbe: { periodSeconds: 3, exec: { command: ['check', SECRET] } },
        },
      ],
    },
    status: { phase, message: SECRET },
  };
}

const RECORDED = {
  metadata: {
    name: 'web',
    namespace: 'default',
    uid: 'uid-1',
    deletionTimestamp: '2026-01-01T00:00:00Z',
    deletionGracePeriodSeconds: 7,
    annotations: { 'kubernetes.io/config.source': 'file' },
  },
  spec: { restartPolicy: 'Never', terminationGracePeriodSeconds: 9, containers: [{ name: 'main' }] },
  status: { phase: 'Running' },
};

class Session {
  readonly writer = new RecordWriter({ program: '1.2.3', pid: 77, node: 'node-a' });
  #context: object = { round: 0 };
  lines = '';

  constructor() {
    this.writer.begin(1000);
  }

  /** A step that leaves a new context, unless that is to follow from one which is not recorded. */
  add(event: object, kind = KIND, before = this.#context): this {
    this.#context = { round: 1 };
    const step = {
      event: { type: kind.event, ...event },
      before: { value: 'A', context: before },
      after: { value: 'A', context: this.#context },
    };
    this.writer.add(kind, WEB, 1000, step);
    this.lines += this.writer.take().lines;
    return this;
  }

  entries(): Extract<RecordEntry, { type: 'transition' }>[] {
    const reader = new RecordReader();
    const entries = this.lines.split('\n').flatMap((line) => reader.read(line) ?? []);
    return entries.filter((entry) => entry.type === 'transition');
  }
}

/** What is read of an event that said this. */
function said(fields: object, chart = 'pod') {
  const [entry] = new Session().add(fields, { ...KIND, chart }).entries();
  return entry?.transition.data;
}

describe('what an event says', () => {
  test('comes back as it was, also what JSON has no notation for', () => {
    const fields = { again: false, terminal: true, count: -0.5, reason: null, list: [1, 'a', [true]] };
    expect(said(fields)).toEqual(fields);
    const special = {
      never: Infinity,
      byName: new Map([['a', { since: new Set(['b', 'c']) }]]),
    };
    expect(said(special)).toEqual(special);
  });

  test('is left out where there is nothing, and for functions, actors and what is undefined', () => {
    const actor = { id: 'x', send: () => undefined, getSnapshot: () => undefined };
    const session = new Session().add({ pod: undefined, run: () => 1, actor });
    expect(session.entries()[0]?.transition).not.toHaveProperty('data');
    expect(session.lines).toContain('[0,1,1]');
  });

  test('names a pod once, however many objects say the same, and anew where it says something else', () => {
    const pod = podOf('Running');
    const session = new Session()
      .add({ pod })
      .add({ pod })
      .add({ pod: podOf('Running') })
      .add({ pods: [podOf('Failed'), pod] });
    expect(session.lines.split('\n').filter((line) => line.startsWith('{"pod"'))).toHaveLength(2);
    const failed = { ...RECORDED, status: { phase: 'Failed' } };
    expect(session.entries().map(({ transition }) => transition.data)).toEqual([
      { pod: RECORDED },
      { pod: RECORDED },
      { pod: RECORDED },
      { pods: [failed, RECORDED] },
    ]);
  });

  test('holds no secret of a pod, of a container, or of any field that may have one', () => {
    const pod = podOf('Running');
    const [container] = pod.spec.containers;
    const session = new Session().add({
      pod,
      target: { kind: 'liveness', pod, container },
      env: [{ name: 'A', value: SECRET }],
      envs: [SECRET],
      args: [SECRET],
      token: SECRET,
      nested: { deeper: { registryPassword: SECRET, auth: { of: SECRET } } },
      problem: `cannot fetch https://user:${SECRET}@host/path with --token=${SECRET}`,
      error: new Error(`PASSWORD=${SECRET} is wrong`),
    });
    expect(session.lines).not.toContain(SECRET);
    expect(session.entries()[0]?.transition.data).toEqual({
      pod: RECORDED,
      target: {
        kind: 'liveness',
        pod: RECORDED,
        container: { name: 'main', livenessProbe: { periodSeconds: 3 } },
      },
      nested: { deeper: {} },
      problem: 'cannot fetch https://***@host/path with --token=***',
      error: 'PASSWORD=*** is wrong',
    });
  });

  test('is bounded, and says so', () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    const uids = Array.from({ length: 1000 }, (_, index) => `uid-${index}`);
    for (const fields of [{ problem: 'x'.repeat(1000) }, { uids }, { cycle }]) {
      const session = new Session().add(fields);
      expect(session.entries()[0]?.isCut).toBe(true);
      expect(session.lines.length).toBeLessThan(1500);
    }
    expect(new Session().add({ uids: uids.slice(0, 9) }).entries()[0]).not.toHaveProperty('isCut');
    expect(said({ uids }, 'shutdown')).toEqual({ uids });
  });

  test('names the first candidates of an eviction and of a preemption, without their figures', () => {
    const pods = Array.from({ length: 30 }, (_, index) => ({
      namespace: 'a',
      name: `p${index}`,
      uid: `u${index}`,
    }));
    const candidates = pods.map((pod) => ({ ...pod, usage: 7, priority: 0 }));
    expect(said({ choice: { ranking: { candidates, victim: candidates[0] } } }, 'eviction')).toEqual({
      choice: { ranking: { candidates: pods.slice(0, 10) } },
    });
    const victims = [{ candidate: candidates[0], distance: 1 }];
    expect(said({ decision: { candidates, victims } }, 'preemption')).toEqual({
      decision: { candidates: pods.slice(0, 10), victims },
    });
  });

  test('is written once where steps without an event of their own follow', () => {
    const event = { type: KIND.event, uid: 'u' };
    const writer = new RecordWriter({ program: '1', pid: 1, node: 'n' });
    writer.begin(0);
    const snapshot = { value: 'A', context: {} };
    const step: ActorStep = { event, before: snapshot, after: snapshot };
    for (const actor of [WEB, WEB, 'db_default uid-2']) writer.add(KIND, actor, 0, step);
    const lines = writer.take().lines.split('\n');
    expect(lines.filter((line) => line.startsWith('['))).toEqual([
      '[0,1,1,{"uid":"u"}]',
      '[0,1,1,0]',
      '[0,2,1,{"uid":"u"}]',
    ]);
  });
});

describe('how an actor was', () => {
  const before = (context: object, isCut = false) => ({ state: 'A', context, isCut });

  test('is recorded before its first transition of a session, with its pods', () => {
    const session = new Session().add({}, KIND, { pod: podOf('Running'), delay: undefined }).add({});
    expect(session.entries().map((entry) => entry.before)).toEqual([before({ pod: RECORDED }), undefined]);
    expect(session.lines).not.toContain(SECRET);
  });

  test('is recorded again where something is missing: another context, or another state', () => {
    const elsewhere = { ...KIND, from: 'B' };
    const session = new Session()
      .add({})
      .add({}, KIND, { round: 7 })
      .add({})
      .add({}, elsewhere)
      .add({}, KIND, { text: 'x'.repeat(1000) });
    expect(session.entries().map((entry) => entry.before)).toEqual([
      before({ round: 0 }),
      before({ round: 7 }),
      undefined,
      before({ round: 1 }),
      before({ text: `${'x'.repeat(399)}…` }, true),
    ]);
  });

  test('is recorded again in the next session', () => {
    const session = new Session().add({}).add({});
    session.writer.begin(2000);
    session.add({});
    expect(session.entries().at(-1)?.before).toEqual(before({ round: 1 }));
  });
});
