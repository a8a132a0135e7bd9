/** Which pods the double's garbage collector of pods removes, on a store alone, by a clock that the test sets. */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { ApiStore } from '../../../../src/simulation/api/api-store.ts';
import { ApiObjects } from '../api-objects.ts';
import type { AnyObject, Store } from '../context.ts';
import type { ControllerHost } from './controllers.ts';
import { collectPods } from './pod-gc.ts';

const QUARANTINE_MS = 40_000;
const TERMINATED_MAX = 12_500;
const START = Date.parse('2026-01-02T03:04:05Z');

let store: Store;
let nowMs: number;
/** After which times the collector wants to look again. */
let waits: number[];

beforeEach(() => {
  store = new ApiStore<string>();
  nowMs = START;
  waits = [];
});

function collect(): void {
  const now = () => nowMs;
  const objects = new ApiObjects({ store, now, serviceAccounts: false });
  const again = (afterMs: number) => void waits.push(afterMs);
  const host: Pick<ControllerHost, 'store' | 'objects' | 'now' | 'again'> = { store, objects, now, again };
  collectPods(host as ControllerHost);
}

function addPod(name: string, phase: string, nodeName?: string, metadata: object = {}): void {
  const containers = [{ name: 'main', image: 'x' }];
  const spec = { containers, ...(nodeName !== undefined && { nodeName }) };
  const pod = { metadata: { name, namespace: 'default', ...metadata }, spec, status: { phase } };
  store.add('pods', pod, undefined);
}

const addNode = (name: string) => store.add('nodes', { metadata: { name } }, undefined);
const names = () => store.list('pods').map(({ metadata }) => metadata.name);

describe('a pod of a node that is not there', () => {
  test('stays for 40 seconds, in which the node may come', () => {
    addPod('web', 'Running', 'gone');
    collect();
    nowMs += QUARANTINE_MS - 1;
    collect();
    expect(names()).toEqual(['web']);
    expect(waits).toEqual([QUARANTINE_MS, 1]);
  });

  test('has failed then, says why, and is removed', () => {
    addPod('web', 'Running', 'gone');
    collect();
    const seen: AnyObject[] = [];
    store.changes.subscribe(({ after }) => after !== undefined && seen.push(after));
    nowMs += QUARANTINE_MS;
    collect();
    expect(names()).toEqual([]);
    expect(seen[0]?.status).toMatchObject({
      phase: 'Failed',
      conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'DeletionByPodGC' }],
    });
  });

  test('that has ended is removed as it was', () => {
    addPod('done', 'Succeeded', 'gone');
    collect();
    const phases: unknown[] = [];
    store.changes.subscribe(({ after }) => after !== undefined && phases.push((after as AnyObject).status));
    nowMs += QUARANTINE_MS;
    collect();
    expect(names()).toEqual([]);
    expect(new Set(phases.map((status) => JSON.stringify(status)))).toEqual(
      new Set(['{"phase":"Succeeded"}']),
    );
  });

  test('is given the whole time again when the node has been there in between', () => {
    addPod('web', 'Running', 'shaky');
    collect();
    nowMs += QUARANTINE_MS - 1;
    const node = addNode('shaky');
    collect();
    store.remove('nodes', node, undefined);
    nowMs += QUARANTINE_MS;
    collect();
    expect(names()).toEqual(['web']);
    expect(waits.at(-1)).toBe(QUARANTINE_MS);
  });
});

test('a pod that was deleted before it had a node is removed, and no other without a node', () => {
  addPod('deleted', 'Pending', undefined, { deletionTimestamp: '2026-01-02T03:04:35Z' });
  addPod('waiting', 'Pending');
  collect();
  expect(names()).toEqual(['waiting']);
});

test('of too many pods that have ended, the oldest are removed, and none that runs', () => {
  addNode('node-1');
  const created = (ageS: number) => ({
    creationTimestamp: new Date(START - ageS * 1000).toISOString().replace('.000Z', 'Z'),
  });
  addPod('runs', 'Running', 'node-1', created(90_000));
  for (let index = 0; index < TERMINATED_MAX; index += 1)
    addPod(`done-${index}`, index % 2 === 0 ? 'Succeeded' : 'Failed', 'node-1', created(index));
  addPod('oldest', 'Succeeded', 'node-1', created(80_000));
  addPod('older', 'Failed', 'node-1', created(70_000));
  collect();
  const left = new Set(names());
  expect(left.size).toBe(TERMINATED_MAX + 1);
  expect(['runs', `done-${TERMINATED_MAX - 1}`].every((name) => left.has(name))).toBe(true);
  expect(['oldest', 'older'].some((name) => left.has(name))).toBe(false);
});
