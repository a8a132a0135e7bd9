import { expect, test } from '@jest/globals';
import { CRASH_LOOP_BACK_OFF } from '../../../src/policies/sync/crash-loop-backoff.ts';
import { OrphanRemoval } from '../../../src/actors/pods/orphan-removal.ts';
import { PodRemoval } from '../../../src/actors/pods/pod-removal.ts';
import { NO_NODE_FAULTS } from '../../../src/simulation/node/node-fault-draws.ts';
import { newFolder } from '../../../src/simulation/node/simulated-disk.ts';
import { simulatedNode } from '../../../src/simulation/node/simulated-node.ts';
import { SimulatedRuntime } from '../../../src/runtime/simulated/simulated-runtime.ts';
import { Pleg } from '../../../src/runtime/pleg/pleg.ts';
import { PodRuntime } from '../../../src/runtime/pods/pod-runtime.ts';
import { StartGate } from '../../../src/runtime/pods/start-gate.ts';
import { settled, VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { silentLogger } from '../../support/silent-logger.ts';

const RETRY_DELAY_MS = 60_000;

/** A node with files of these pods on its disk. */
function bed(...uids: string[]) {
  const clock = new VirtualClock();
  const runtime = new SimulatedRuntime({ clock, random: () => 0.5 }).connect();
  const disk = new Map(uids.map((uid) => [uid, { ...newFolder(), mounted: true }]));
  const faults = { ...NO_NODE_FAULTS };
  const node = simulatedNode({ runtime, disk, clock, random: () => 0.5, faults: () => faults });
  const pleg = new Pleg({ runtime, clock, relistPeriodMs: 10_000, onRelist: () => undefined });
  const podRuntime = new PodRuntime({
    runtime,
    node,
    clock,
    recorder: { event: () => undefined },
    logger: silentLogger,
    backOff: CRASH_LOOP_BACK_OFF,
    gate: new StartGate({ clock, atOnce: 1 }),
    deadInstancesKept: 1,
  });
  const removal = new PodRemoval(pleg, podRuntime, node);
  const inRuntime = new Set<string>();
  const isInRuntime = (uid: string) => inRuntime.has(uid);
  const orphans = new OrphanRemoval({ node, clock, removal, isKnown: (uid) => uid === 'known', isInRuntime });
  return { clock, disk, faults, removal, orphans, inRuntime };
}

test('the files of unknown pods are removed; those of known pods stay', async () => {
  const { disk, orphans } = bed('known', 'gone', 'lost');
  orphans.turn();
  await settled();
  expect([...disk.keys()]).toEqual(['known', 'gone', 'lost']);
  orphans.begin();
  orphans.turn();
  await settled();
  expect([...disk.keys()]).toEqual(['known']);
});

test('the files of a pod that the runtime loses before housekeeping removes it are removed after a minute', async () => {
  const { clock, disk, orphans, inRuntime } = bed('gone');
  inRuntime.add('gone');
  orphans.begin();
  orphans.turn();
  await settled();
  expect([...disk.keys()]).toEqual(['gone']);
  inRuntime.delete('gone');
  await clock.advance(RETRY_DELAY_MS);
  orphans.turn();
  await settled();
  expect(disk.size).toBe(0);
});

test('a removal that fails is tried again after a minute, and not sooner', async () => {
  const { clock, disk, faults, orphans } = bed('gone');
  faults.release = 1;
  orphans.begin();
  orphans.turn();
  await settled();
  faults.release = 0;
  await clock.advance(RETRY_DELAY_MS - 1);
  orphans.turn();
  await settled();
  expect([...disk.keys()]).toEqual(['gone']);
  await clock.advance(1);
  orphans.turn();
  await settled();
  expect(disk.size).toBe(0);
});

test('while files of a pod are being removed, the removal is known: the pod must not start before its end', async () => {
  const { disk, removal, orphans } = bed('gone');
  const removed = removal.removeFromNode({ uid: 'gone', name: '', namespace: '' });
  expect([removal.underWay('gone') !== undefined, disk.size]).toEqual([true, 1]);
  orphans.begin();
  orphans.turn();
  expect(await removed).toBe(true);
  await settled();
  expect([removal.underWay('gone'), disk.size]).toEqual([undefined, 0]);
});
