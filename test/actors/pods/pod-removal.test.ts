import { expect, test } from '@jest/globals';
import { PodRemoval } from '../../../src/actors/pods/pod-removal.ts';
import { CRASH_LOOP_BACK_OFF } from '../../../src/policies/pod-actions/back-off.ts';
import { containerConfig } from '../../../src/policies/cri/container-config.ts';
import { podSandboxConfig } from '../../../src/policies/cri/sandbox-config.ts';
import { Pleg } from '../../../src/runtime/pleg/pleg.ts';
import { PodRuntime } from '../../../src/runtime/pods/pod-runtime.ts';
import { SimulatedRuntime } from '../../../src/runtime/simulated/simulated-runtime.ts';
import { StartGate } from '../../../src/runtime/pods/start-gate.ts';
import { NO_NODE_FAULTS } from '../../../src/simulation/node/node-fault-draws.ts';
import { simulatedNode } from '../../../src/simulation/node/simulated-node.ts';
import { settled, VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { silentLogger } from '../../support/silent-logger.ts';

const CONTAINERS = ['one', 'two'].map((name) => ({ name, image: 'registry.example/app:1' }));
const POD = {
  metadata: { uid: 'uid-web', name: 'web', namespace: 'default' },
  spec: { containers: CONTAINERS },
};

/** A runtime that holds the pod, and its PodRemoval. `answerOf` says when and how RemoveContainer answers. */
async function bed(answerOf: (id: string) => Promise<void>) {
  const clock = new VirtualClock();
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
  const pleg = new Pleg({ runtime, clock, relistPeriodMs: 10_000, onRelist: () => undefined });
  await pleg.relist();
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
  return new PodRemoval(pleg, podRuntime, node);
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
