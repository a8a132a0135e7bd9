import { CRASH_LOOP_BACK_OFF } from '../../../../src/agent/policies/pod-actions/back-off.ts';
import { expect, test } from '@jest/globals';
import { PodRemoval, type PodRemovalParts } from '../../../../src/agent/actors/pods/pod-removal.ts';
import { containerConfig } from '../../../../src/agent/policies/cri/container-config.ts';
import { podSandboxConfig } from '../../../../src/agent/policies/cri/sandbox-config.ts';
import { Pleg } from '../../../../src/agent/runtime/pleg/pleg.ts';
import { PodRuntime } from '../../../../src/agent/runtime/pods/pod-runtime.ts';
import { StartGate } from '../../../../src/agent/runtime/pods/start-gate.ts';
import { SimulatedRuntime } from '../../../../src/simulation/runtime/simulated-runtime.ts';
import { NO_NODE_FAULTS } from '../../../../src/simulation/node/node-fault-draws.ts';
import { newFolder } from '../../../../src/simulation/node/simulated-disk.ts';
import { simulatedNode } from '../../../../src/simulation/node/simulated-node.ts';
import { settled } from '../../../../src/simulation/node/virtual-clock.ts';
import { testPod } from '../../../support/pods.ts';
import { recordingLogger } from '../../../support/recording-logger.ts';
import { testContext } from '../../../support/test-context.ts';

const CONTAINERS = ['one', 'two'].map((name) => ({ name, image: 'registry.example/app:1' }));
const POD = {
  metadata: { uid: 'uid-web', name: 'web', namespace: 'default' },
  spec: { containers: CONTAINERS },
};

/** A runtime that holds the pod, and its PodRemoval. `answerOf` says when and how RemoveContainer answers. */
async function bed(answerOf: (id: string) => Promise<void>) {
  const context = testContext();
  const { clock } = context;
  const runtime = new SimulatedRuntime({ clock, random: () => 0.5, latencies: {} }).connect();
  const sandboxConfig = podSandboxConfig(POD, 0, { podLogsDir: '/var/log/pods' });
  const sandboxId = await runtime.runPodSandbox(sandboxConfig);
  for (const container of CONTAINERS) {
    const resolved = { command: ['run'], args: [], envs: [] };
    const config = containerConfig({ pod: POD, container, attempt: 0, resolved, imageRef: 'sha256:0' });
    await runtime.createContainer(sandboxId, config, sandboxConfig);
  }
  runtime.removeContainer = answerOf;
  const node = simulatedNode({
    runtime,
    disk: new Map(),
    clock,
    random: () => 0.5,
    faults: () => NO_NODE_FAULTS,
  });
  const pleg = new Pleg(context, runtime, () => undefined);
  await pleg.relist();
  const podRuntime = new PodRuntime(context, {
    runtime,
    node,
    backOff: CRASH_LOOP_BACK_OFF,
    gate: new StartGate(context, 1),
    deadInstancesKept: 1,
  });
  return new PodRemoval(context, { pleg, podRuntime, node });
}

test('a removal that fails is under way until its last call has ended: the UID must not start again before', async () => {
  const { promise: slow, resolve: answer } = Promise.withResolvers<undefined>();
  const asked: string[] = [];
  const removal = await bed((id) => {
    asked.push(id);
    return asked.length === 1 ? Promise.reject(new Error('it did not work')) : slow;
  });
  const outcome = removal.remove(POD.metadata).catch((error: unknown) => (error as Error).message);
  const first = await Promise.race([outcome, settled().then(() => 'under way')]);
  expect(asked).toHaveLength(2);
  expect(first).toBe('under way');
  expect(removal.underWay('uid-web')).toBeDefined();
  answer(undefined);
  expect(await outcome).toBe('it did not work');
  expect(removal.underWay('uid-web')).toBeUndefined();
});

const HOUSEKEEPING_MS = 2_000;

const MINUTE_MS = 60_000;

/** A node with files of these pods on its disk. */
function nodeWithFilesOf(...uids: string[]) {
  const context = testContext();
  const { clock } = context;
  const simulated = new SimulatedRuntime({ clock, random: () => 0.5 });
  const runtime = simulated.connect();
  const disk = new Map(uids.map((uid) => [uid, { ...newFolder(), mounted: true }]));
  const faults = { ...NO_NODE_FAULTS };
  const node = simulatedNode({ runtime, disk, clock, random: () => 0.5, faults: () => faults });
  const pleg = new Pleg(context, runtime, () => undefined);
  const podRuntime = new PodRuntime(context, {
    runtime,
    node,
    backOff: CRASH_LOOP_BACK_OFF,
    gate: new StartGate(context, 1),
    deadInstancesKept: 1,
  });
  const known = new Set(['known']);
  const inRuntime = new Set<string>();
  pleg.runtimeHolds = (uid) => (inRuntime.has(uid) ? 'ended' : 'nothing');
  const searches: boolean[] = [];
  const { logger, lines } = recordingLogger();
  const searched: PodRemovalParts['node'] = {
    remove: (pod) => node.remove(pod),
    podsOnDisk: (search) => {
      searches.push(search.isThorough);
      return node.podsOnDisk(search);
    },
  };
  const removal = new PodRemoval(testContext({ clock, logger }), { pleg, podRuntime, node: searched });
  const removeOrphans = () => removal.removeOrphans((uid) => known.has(uid));
  const housekeeping = async () => {
    removeOrphans();
    await clock.advance(HOUSEKEEPING_MS);
  };
  return {
    clock,
    runtime,
    simulated,
    disk,
    faults,
    removal,
    removeOrphans,
    known,
    inRuntime,
    searches,
    warnings: () => lines.filter(({ level }) => level === 'warn').map(({ message }) => message),
    housekeeping,
  };
}

const left = ({ disk }: ReturnType<typeof nodeWithFilesOf>) => [...disk.keys()];

test('what unknown pods have on the node is removed once all sources were seen; that of known pods stays', async () => {
  const node = nodeWithFilesOf('known', 'gone', 'lost');
  await node.housekeeping();
  expect(left(node)).toEqual(['known', 'gone', 'lost']);
  node.removal.beginOrphans();
  await node.housekeeping();
  expect(left(node)).toEqual(['known']);
});

test('what appears later of an unknown pod is removed by the next housekeeping', async () => {
  const node = nodeWithFilesOf('known');
  node.removal.beginOrphans();
  await node.housekeeping();
  for (const uid of ['later', 'much later']) {
    node.disk.set(uid, newFolder());
    await node.housekeeping();
    expect(left(node)).toEqual(['known']);
  }
});

test('a pod that is forgotten while its files stay is an orphan from then on', async () => {
  const node = nodeWithFilesOf('known');
  node.removal.beginOrphans();
  await node.housekeeping();
  node.known.delete('known');
  await node.housekeeping();
  expect(left(node)).toEqual([]);
});

test('a search is thorough once a minute, and where a short one has found an orphan', async () => {
  const node = nodeWithFilesOf();
  node.removal.beginOrphans();
  for (let turn = 0; turn <= MINUTE_MS / HOUSEKEEPING_MS; turn++) await node.housekeeping();
  expect(node.searches.filter((isThorough) => isThorough)).toHaveLength(2);
  expect([node.searches[0], node.searches.at(-1)]).toEqual([true, true]);
  node.disk.set('later', newFolder());
  await node.housekeeping();
  expect(node.searches.slice(-2)).toEqual([false, true]);
});

test('a pod that the runtime has is left to housekeeping, also where only the runtime itself knows it yet', async () => {
  const node = nodeWithFilesOf('listed', 'just made');
  node.inRuntime.add('listed');
  const pod = testPod({ uid: 'just made' });
  const made = node.runtime.runPodSandbox(podSandboxConfig(pod, 0, { podLogsDir: '/var/log/pods' }));
  await node.clock.advance(MINUTE_MS);
  node.removal.beginOrphans();
  await node.housekeeping();
  expect(left(node)).toEqual(['listed', 'just made']);
  node.inRuntime.clear();
  const removed = node.runtime.removePodSandbox(await made);
  await node.clock.advance(MINUTE_MS);
  await removed;
  await node.housekeeping();
  expect(left(node)).toEqual([]);
});

test('nothing is removed while the runtime does not answer', async () => {
  const node = nodeWithFilesOf('gone');
  node.simulated.goDown();
  node.removal.beginOrphans();
  await node.housekeeping();
  expect(left(node)).toEqual(['gone']);
  node.simulated.comeUp();
  await node.clock.advance(MINUTE_MS);
  await node.housekeeping();
  expect(left(node)).toEqual([]);
});

test('a removal that fails is logged once, and tried again after a minute, and not sooner', async () => {
  const node = nodeWithFilesOf('gone');
  node.faults.release = 1;
  node.removal.beginOrphans();
  await node.housekeeping();
  expect(node.warnings()).toEqual([
    'Cannot remove what is left of an orphaned pod, will be tried again: the volume is busy',
  ]);
  await node.clock.advance(MINUTE_MS - HOUSEKEEPING_MS);
  await node.housekeeping();
  expect(node.warnings()).toHaveLength(1);
  node.faults.release = 0;
  await node.clock.advance(MINUTE_MS - HOUSEKEEPING_MS - 1);
  node.removeOrphans();
  await settled();
  expect(left(node)).toEqual(['gone']);
  await node.clock.advance(1);
  await node.housekeeping();
  expect(left(node)).toEqual([]);
});

test('an orphan whose removal failed is removed at once when the obstacle may be gone, and the failure is logged once', async () => {
  const node = nodeWithFilesOf('gone');
  node.faults.release = 1;
  node.removal.beginOrphans();
  await node.housekeeping();
  node.removal.retryOrphans();
  await node.housekeeping();
  expect([left(node), node.warnings().length]).toEqual([['gone'], 1]);
  node.faults.release = 0;
  node.removal.retryOrphans();
  await node.housekeeping();
  expect(left(node)).toEqual([]);
});

test('an orphan that a source brings back before its removal begins is not touched', async () => {
  const node = nodeWithFilesOf('gone');
  node.removal.beginOrphans();
  node.removeOrphans();
  node.known.add('gone');
  await settled();
  expect(left(node)).toEqual(['gone']);
});

test('while files of a pod are being removed, the removal is known: the pod must not start before its end', async () => {
  const node = nodeWithFilesOf('gone');
  const removed = node.removal.removeFromNode({ uid: 'gone', name: '', namespace: '' });
  expect([node.removal.underWay('gone') !== undefined, node.disk.size]).toEqual([true, 1]);
  node.removal.beginOrphans();
  await node.housekeeping();
  expect(await removed).toBe(true);
  expect([node.removal.underWay('gone'), node.disk.size]).toEqual([undefined, 0]);
});
