/** What the tests of the writer of statuses share: a server, a clock, and a writer that is started anew for each test. */
import { afterEach, beforeEach } from '@jest/globals';
import { createActor, createMachine } from 'xstate';
import { StatusWriter } from '../../../../src/agent/actors/cluster/status-writer.ts';
import { StatusLatency } from '../../../../src/agent/actors/cluster/status-latency.ts';
import { DesiredPods } from '../../../../src/agent/actors/pods/desired-pods.ts';
import { StatusManager } from '../../../../src/agent/actors/pods/status-manager.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import type { Logger } from '../../../../src/types/logger.ts';
import { PodServer } from '../../../support/pod-server.ts';
import { RecordedMeasurements } from '../../../support/recorded-measurements.ts';
import { testPod } from '../../../support/pods.ts';
import { testContext } from '../../../support/test-context.ts';

export let server: PodServer;
export let clock: VirtualClock;
export let desired: DesiredPods;
export let manager: StatusManager;
export let writer: StatusWriter;
export let running: Set<string>;
export let lines: string[];
export let measurements: RecordedMeasurements;
export let told: StatusLatency;
let isOwnNode: boolean;

beforeEach(() => {
  server = new PodServer();
  clock = new VirtualClock();
  desired = new DesiredPods();
  running = new Set();
  lines = [];
  isOwnNode = true;
  const line = (level: string) => (_fields: object, message: string) =>
    void lines.push(`${level} ${message}`);
  const nothing = () => undefined;
  const logger: Logger = {
    trace: nothing,
    debug: nothing,
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
  };
  const mirrorPods = { ownMirrorPodOf: (pod: Pod) => desired.mirrorPodOf(pod) };
  manager = new StatusManager(testContext({ clock }), mirrorPods);
  measurements = new RecordedMeasurements();
  told = new StatusLatency(measurements, manager, clock);
  // As in an agent, where the supervisor is the parent.
  const parent = createActor(createMachine({}), { clock }).start();
  writer = new StatusWriter(testContext({ clock, logger, parent }), {
    api: server,
    statusManager: manager,
    pods: desired,
    couldHaveRunningContainers: (uid) => running.has(uid),
    onWritten: (uid, entry) => told.written(uid, entry),
    isOwnNode: () => isOwnNode,
  });
  writer.start();
});
afterEach(async () => {
  told.stop();
  await writer.stop();
});

/** A pod that is bound to this node, at the API server and here. A node has begun it: by default, that is known at the API server. */
export function bound(name: string, more: Parameters<typeof testPod>[0] = {}, hasNoStatusYet = false): Pod {
  const begun = hasNoStatusYet ? {} : { startTime: '2030-01-01T00:00:00Z' };
  const pod = {
    ...testPod({ name, ...more }),
    status: { phase: 'Pending', qosClass: 'BestEffort', ...begun },
  };
  server.put(pod);
  desired.set(pod);
  return pod;
}

/** Whether the Node object is of this machine. */
export function ownsNode(owns: boolean): void {
  isOwnNode = owns;
}
