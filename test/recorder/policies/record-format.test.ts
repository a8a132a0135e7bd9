import { describe, expect, test } from '@jest/globals';
import { isRoutine, podOfActor } from '../../../src/recorder/policies/record-entry.ts';
import { RecordWriter } from '../../../src/recorder/policies/record-format.ts';
import {
  type RecordEntry,
  RecordReader,
  type WantsActor,
} from '../../../src/recorder/policies/record-reader.ts';
import type { ActorStep, Transition, TransitionKind } from '../../../src/types/transition.ts';

const FACTS = { program: '1.2.3', pid: 77, node: 'node-a' };
const WEB = 'web_default uid-1';
const START: TransitionKind = {
  chart: 'pod',
  event: 'SyncPodCreate',
  from: 'Syncing.Starting.New',
  to: 'Syncing.Starting.AwaitingRuntime',
  actions: ['adopt', 'awaitRuntime'],
};
const STOP: TransitionKind = {
  ...START,
  event: 'SyncPodKill',
  from: START.to,
  to: START.from,
  guard: 'updateEndsPod',
  actions: [],
};
const SNAPSHOT = { value: { Syncing: { Starting: 'New' } }, context: {} };
/** Of an event of its own, which says nothing and changes nothing. */
const step = (): ActorStep => ({ event: { type: 'X' }, before: SNAPSHOT, after: SNAPSHOT });

function read(text: string, wants?: WantsActor): RecordEntry[] {
  const reader = new RecordReader(wants);
  return text.split('\n').flatMap((line) => reader.read(line) ?? []);
}

function transitions(text: string, wants?: WantsActor): Transition[] {
  return read(text, wants).flatMap((entry) => (entry.type === 'transition' ? entry.transition : []));
}

/** Two batches of one session. */
function written(): string {
  const writer = new RecordWriter(FACTS);
  writer.begin(1000);
  writer.add(START, WEB, 1005, step());
  writer.add(STOP, 'db_default uid-2', 1003, step());
  const first = writer.take();
  writer.add(STOP, WEB, 2000, step());
  writer.add({ ...START }, WEB, 2000, step());
  return first.lines + writer.take().lines;
}

/** How an actor was when it was first named. */
const BEFORE = { state: SNAPSHOT.value, context: {}, isCut: false };

const READ: Transition[] = [
  { atMs: 1005, actor: WEB, ...START },
  { atMs: 1003, actor: 'db_default uid-2', ...STOP },
  { atMs: 2000, actor: WEB, ...STOP },
  { atMs: 2000, actor: WEB, ...START },
];

describe('the format of the flight recorder', () => {
  test('gives back what was written, and where it comes from', () => {
    const [began, ...rest] = read(written());
    expect(began).toEqual({ type: 'began', atMs: 1000, ...FACTS });
    const [web, db, ...others] = READ.map((transition) => ({ type: 'transition', transition }));
    expect(rest).toEqual([{ ...web, before: BEFORE }, { ...db, before: BEFORE }, ...others]);
  });

  test('names actors and kinds once in a session, also where equal kinds are several objects', () => {
    const lines = written().split('\n');
    expect(lines.filter((line) => line.includes('"kind"'))).toHaveLength(2);
    expect(lines.filter((line) => line.includes('"actor"'))).toHaveLength(2);
  });

  test('takes few bytes for a transition whose names are known, and less than 150 for one alone in its batch', () => {
    const writer = new RecordWriter(FACTS);
    writer.begin(0);
    for (const kind of [START, STOP]) writer.add(kind, WEB, 0, step());
    writer.take();
    for (let at = 1; at <= 1000; at++)
      writer.add(at % 2 === 0 ? START : STOP, WEB, 1_700_000_000_000 + at, step());
    expect(writer.take().lines.length / 1000).toBeLessThan(15);
    writer.add(START, WEB, 1_700_000_001_500, step());
    expect(writer.take().lines.length).toBeLessThan(150);
  });

  test('leaves out the actors that are not wanted, and keeps the times of the others', () => {
    const wanted: string[] = [];
    const wants: WantsActor = (actor, node) => {
      wanted.push(`${actor} on ${node}`);
      return actor === WEB;
    };
    expect(transitions(written(), wants)).toEqual(READ.filter(({ actor }) => actor === WEB));
    expect(wanted).toEqual([`${WEB} on node-a`, 'db_default uid-2 on node-a']);
  });

  test('can be torn anywhere: what is whole is read, and the next session too', () => {
    const text = written();
    for (let length = 0; length < text.length; length++) {
      const found = transitions(text.slice(0, length) + text);
      expect(found.slice(-READ.length)).toEqual(READ);
      const torn = found.slice(0, -READ.length);
      expect(torn).toEqual(READ.slice(0, torn.length));
    }
  });

  test('can miss any line or have a damaged one: no transition gets another name or time', () => {
    const lines = (written() + written().replaceAll('uid-', 'later-')).split('\n');
    const all = transitions(lines.join('\n')).map((transition) => JSON.stringify(transition));
    for (const damage of ['\0\0\0\0', '{"at":5,', '[1,2', '7']) {
      for (let index = 0; index < lines.length; index++) {
        const found = transitions(lines.with(index, damage).join('\n'));
        for (const transition of found) {
          // A line of a transition that is missing moves the ones after it in its batch.
          const expected = lines[index]?.startsWith('[') === true ? all.map(withoutTime) : all;
          const text = JSON.stringify(transition);
          expect(expected).toContain(lines[index]?.startsWith('[') === true ? withoutTime(text) : text);
        }
      }
    }
  });

  test('of another version is read past what is not known', () => {
    const later = written()
      .replaceAll('"version":1', '"version":1,"kernel":"6.1"')
      .replaceAll(/^\[(.*)\]$/gmu, '[$1,"cause",{"of":1}]')
      .replaceAll('"from"', '"colour":"red","from"')
      .replaceAll(/^(\{"at")/gmu, '{"weather":"fine"}\n[]\nnull\n$1');
    expect(transitions(later)).toEqual(READ);
    const newer = written().replaceAll('"version":1', '"version":2');
    expect(read(newer + written())).toEqual([{ type: 'unknown', version: 2 }, ...read(written())]);
  });

  test('says how many transitions are missing', () => {
    const writer = new RecordWriter(FACTS);
    writer.begin(1000);
    writer.add(START, WEB, 1001, step());
    writer.lose(7);
    writer.begin(2000);
    writer.add(STOP, WEB, 2001, step());
    expect(read(writer.take().lines)).toEqual([
      { type: 'began', atMs: 2000, ...FACTS },
      { type: 'lost', atMs: 2000, count: 8 },
      { type: 'transition', before: BEFORE, transition: { atMs: 2001, actor: WEB, ...STOP } },
    ]);
  });
});

function withoutTime(text: string): string {
  return text.replace(/"atMs":\d+/u, '');
}

describe('what is recorded', () => {
  const probe = { chart: 'probe', from: 'Waiting', to: 'Probing', actions: [] };
  const taints = { ...probe, chart: 'taints' };
  const resize = { ...probe, chart: 'resize', from: 'Request.Deferred', to: 'Request.Deferred' };
  test.each<[string, TransitionKind, boolean]>([
    ['a probe that runs because it is due', { ...probe, event: 'DUE', guard: 'isDue' }, true],
    ['a probe whose result is as before', { ...probe, event: 'PROBED' }, true],
    ['a probe whose result changes', { ...probe, event: 'PROBED', guard: 'changesResult' }, false],
    ['a probe of a container that has gone', { ...probe, event: 'STATUS' }, false],
    ['housekeeping', { ...probe, chart: 'supervisor', event: 'HOUSEKEEPING', to: 'Waiting' }, true],
    ['a look at the taints', { ...taints, event: 'xstate.after.look.taints.Settled' }, true],
    ['taints that are as they should be', { ...taints, event: 'xstate.done.actor', guard: 'isSame' }, true],
    ['taints that are written', { ...taints, event: 'xstate.done.actor' }, false],
    ['a resize that is refused as before', { ...resize, event: 'REFUSED', guard: 'isAsBefore' }, true],
    ['a resize that goes on', { ...resize, event: 'UNDER_WAY' }, true],
    ['a resize that is refused for another reason', { ...resize, event: 'REFUSED' }, false],
    ['a pod that starts', START, false],
  ])('%s is routine: %#', (_, kind, expected) => {
    expect(isRoutine(kind)).toBe(expected);
  });

  test.each([
    ['web_default uid-1', { name: 'web', namespace: 'default', uid: 'uid-1', part: '' }],
    [
      'web-a.b_kube-system main readiness u',
      { name: 'web-a.b', namespace: 'kube-system', uid: 'u', part: 'main readiness' },
    ],
    ['preemption web_default u', { name: 'web', namespace: 'default', uid: 'u', part: 'preemption' }],
    ['pod-kill web_default u', { name: 'web', namespace: 'default', uid: 'u', part: 'pod-kill' }],
    ['resize web_default u', { name: 'web', namespace: 'default', uid: 'u', part: 'resize' }],
    ['eviction', undefined],
    ['client certificate', undefined],
    ['plugin my_own plugin', undefined],
  ])('the actor "%s" is of the pod %j', (actor, pod) => {
    expect(podOfActor(actor)).toEqual(pod);
  });
});
