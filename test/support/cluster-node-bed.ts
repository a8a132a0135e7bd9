/** The actor of the Node object with an API server and facts of the test. */
import { createActor, createMachine } from 'xstate';
import { ClusterNode } from '../../src/agent/actors/cluster/cluster-node.ts';
import type { RegistrationSettings } from '../../src/agent/policies/node/initial-node.ts';
import type { MachineIdentity } from '../../src/agent/policies/node/machine-identity.ts';
import { VirtualClock } from '../../src/simulation/node/virtual-clock.ts';
import type { Node } from '../../src/types/kubernetes.ts';
import { type FactsInput, machineFacts, REGISTRATION } from './machine-facts.ts';
import { NodeApi } from './node-api.ts';
import { RecordedMeasurements } from './recorded-measurements.ts';
import { recordingLogger } from './recording-logger.ts';
import { testContext } from './test-context.ts';

export const MINUTE_MS = 60_000;
const started: ClusterNode[] = [];
/** For `afterEach`. */
export function stopNodes(): void {
  for (const node of started.splice(0)) node.stop();
}

interface Options {
  readonly registerNode?: boolean;
  readonly registration?: Partial<RegistrationSettings>;
  readonly random?: number;
}

export function setUp({ registerNode = true, registration = {}, random = 0 }: Options = {}) {
  const clock = new VirtualClock();
  const api = new NodeApi(() => clock.now());
  const { logger, lines } = recordingLogger();
  const events: string[] = [];
  const told: string[] = [];
  const measurements = new RecordedMeasurements();
  /** What had been reported before each event. */
  const toldAtEvents: string[][] = [];
  const facts: { -readonly [Key in keyof FactsInput]: FactsInput[Key] } = { nowMs: 0 };
  const context = testContext({
    clock,
    random: () => random,
    logger,
    measurements,
    recorder: {
      event: () => undefined,
      nodeEvent: (type, reason) => {
        events.push(`${type} ${reason}`);
        toldAtEvents.push([...told]);
      },
    },
    // As in an agent, where the supervisor is the parent.
    parent: createActor(createMachine({})).start(),
  });
  const node = new ClusterNode(context, {
    api,
    settings: {
      registerNode,
      nodeStatusUpdateFrequencyMs: 10_000,
      nodeStatusReportFrequencyMs: 5 * MINUTE_MS,
      nodeLeaseDurationSeconds: 40,
    },
    registration: { ...REGISTRATION, ...registration },
    facts: () => Promise.resolve(machineFacts({ ...facts, nowMs: clock.now() })),
    onRegistered: (uid) => told.push(`registered ${uid}`),
    onLost: () => told.push('lost'),
  });
  started.push(node);
  return { clock, api, node, facts, events, told, measurements, toldAtEvents, lines };
}

/** Registered and reported; the requests until then are forgotten. */
export async function registered(options: Options = {}) {
  const it = setUp(options);
  it.node.start();
  await it.clock.advance(1_000);
  it.api.requests.length = 0;
  it.events.length = 0;
  return it;
}

/** A Node object with a status of that machine. */
export const nodeOf = (identity: MachineIdentity): Node => ({
  metadata: { name: 'node-1', labels: { zone: 'a' } },
  spec: { taints: [{ key: 'kept', effect: 'NoSchedule' }] },
  status: {
    nodeInfo: {
      ...identity,
      architecture: 'amd64',
      containerRuntimeVersion: '',
      kernelVersion: '',
      kubeProxyVersion: '',
      kubeletVersion: '',
      operatingSystem: 'linux',
      osImage: '',
    },
  },
});
