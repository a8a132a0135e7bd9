/** What is copied of a record for one pod: its own actors, and what the charts of the node were told about it. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { NamingTransitions, RecordCopy } from '../../../src/commands/record/record-copy.ts';
import {
  namesPod,
  podOfActor,
  type RecordedTransition,
} from '../../../src/recorder/policies/record-entry.ts';
import { RecordWriter } from '../../../src/recorder/policies/record-format.ts';
import { RecordReader } from '../../../src/recorder/policies/record-reader.ts';
import { recordOf, replayed } from '../../recorder/replay/support.ts';

interface PodName {
  readonly namespace: string;
  readonly name: string;
}

const AS_RECORDED = { differences: [], notReplayed: {} };

function copied(record: string, pod: PodName) {
  const [reader, copy] = [new RecordReader(), new RecordCopy(0, new NamingTransitions(pod))];
  for (const line of record.split('\n')) {
    const entry = reader.read(line);
    if (entry !== undefined) copy.add(entry);
  }
  return copy.end();
}

function transitionsOf(record: string): readonly RecordedTransition[] {
  const reader = new RecordReader();
  const entries = record.split('\n').flatMap((line) => reader.read(line) ?? []);
  return entries.filter((entry) => entry.type === 'transition');
}

function podsOf(record: string): readonly PodName[] {
  const pods = transitionsOf(record).flatMap(({ transition: { actor } }) => podOfActor(actor) ?? []);
  return [...new Map(pods.map((pod) => [`${pod.namespace}/${pod.name}`, pod])).values()];
}

describe('for each pod of a simulated node, all faults', () => {
  let record = '';
  let copies: { readonly pod: PodName; readonly lines: string; readonly ofOthers: number }[] = [];
  beforeAll(async () => {
    record = await recordOf({ seed: 3, hours: 1 }, 700);
    copies = podsOf(record).map((pod) => ({ pod, ...copied(record, pod) }));
  });
  const chartsOf = (lines: string) => new Set(transitionsOf(lines).map(({ transition }) => transition.chart));

  test('a replay of the copy shows no difference, and nothing is missing', () => {
    for (const { lines } of copies) expect(replayed(lines)).toMatchObject(AS_RECORDED);
  });

  test('the copy has the supervisor and others that named the pod, with the data of their events', () => {
    const charts = new Set(copies.flatMap(({ lines }) => [...chartsOf(lines)]));
    for (const chart of ['pod', 'supervisor', 'eviction', 'preemption']) expect([...charts]).toContain(chart);
    const all = transitionsOf(record);
    for (const { pod, lines, ofOthers } of copies) {
      const isNamed = (namespace: string, name: string) => namespace === pod.namespace && name === pod.name;
      const isNaming = ({ transition: { chart, data } }: RecordedTransition) =>
        chart === 'supervisor' && namesPod(data, { uids: [], isNamed });
      const saidOf = (some: readonly RecordedTransition[]) =>
        some.filter(isNaming).map(({ transition }) => transition);
      expect(saidOf(transitionsOf(lines))).toEqual(saidOf(all));
      expect(ofOthers).toBeGreaterThan(0);
    }
  });
});

test('of the transitions of the node that name the pod, each session has the newest thousand', () => {
  const web = { namespace: 'default', name: 'web' };
  const state = 'Sources.Ready,Runtime.Ready,Loop.Running';
  const value = { Sources: 'Ready', Runtime: 'Ready', Loop: 'Running' };
  const supervisor = { value, context: { unseenSources: [], runtimeProblem: undefined } };
  const heard = { chart: 'supervisor', event: 'PLEG', from: state, to: state };
  const kind = { ...heard, actions: ['handlePodLifecycleEvents'] };
  const writer = new RecordWriter({ program: '1', pid: 1, node: 'n' });
  writer.begin(0);
  const asked = { ...kind, chart: 'pod', event: 'RUNTIME_NOT_READY', from: 'Syncing', to: 'Syncing' };
  const pod = { value: 'Syncing', context: {} };
  writer.add(asked, 'web_default uid-1', 0, { event: { type: asked.event }, before: pod, after: pod });
  for (let index = 0; index < 3_000; index++) {
    const event = { type: 'PLEG', uid: index % 2 === 0 ? 'uid-1' : 'uid-2' };
    writer.add(kind, 'supervisor', index, { event, before: supervisor, after: supervisor });
  }
  const { lines, transitions, ofOthers } = copied(writer.take().lines, web);
  expect({ transitions, ofOthers }).toEqual({ transitions: 1_001, ofOthers: 1_000 });
  const times = transitionsOf(lines).map(({ transition }) => transition.atMs);
  expect([times[0], times[1], times.at(-1)]).toEqual([0, 1_000, 2_998]);
  expect(lines).not.toContain('uid-2');
  const { differences } = replayed(lines);
  expect(differences.filter(({ chart }) => chart === 'supervisor')).toEqual([]);
});
