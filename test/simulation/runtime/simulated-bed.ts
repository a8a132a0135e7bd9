import { NO_LATENCIES, type Random } from '../../../src/simulation/runtime/chance.ts';
import type { SimulatedConnection } from '../../../src/simulation/runtime/simulated-connection.ts';
import {
  SimulatedRuntime,
  type SimulatedRuntimeOptions,
} from '../../../src/simulation/runtime/simulated-runtime.ts';
import type { CallUnderWay, RuntimeWitness } from '../../../src/simulation/runtime/witness.ts';
import { keyedRandom } from '../../../src/simulation/plan/seeded-random.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import type { ContainerEvent, PodSandboxConfig } from '../../../src/types/cri.ts';
import { errorKind } from '../../../src/types/errors.ts';
import { containerConfig } from '../../support/runtime-configs.ts';

/** Always the same number, one for which `holds` is true: so a test decides what is left to chance. */
export function chosen(holds: (value: number) => boolean): Random {
  const value = Array.from({ length: 1000 }, (_, index) => index / 1000).find(holds);
  if (value === undefined) throw new Error('no number is as wanted');
  return () => value;
}

export interface SimulatedBed {
  readonly clock: VirtualClock;
  readonly simulated: SimulatedRuntime;
  readonly runtime: SimulatedConnection;
  /** Every call of the witness, as a line with the milliseconds since the beginning. */
  readonly history: string[];
}

/** A runtime with a virtual clock, by default without latencies and faults. */
export function simulatedBed(options: Partial<SimulatedRuntimeOptions> = {}): SimulatedBed {
  const clock = new VirtualClock();
  const history: string[] = [];
  const simulated = new SimulatedRuntime({
    clock,
    random: keyedRandom(1),
    latencies: NO_LATENCIES,
    witness: historian(history, clock),
    ...options,
  });
  return { clock, simulated, runtime: simulated.connect(), history };
}

function historian(history: string[], clock: VirtualClock): RuntimeWitness {
  const begun = clock.now();
  const note = (...words: readonly unknown[]) => history.push([clock.now() - begun, ...words].join(' '));
  const nameOf = ({ name, ordinal, uid, connection }: CallUnderWay) =>
    `${name}/${ordinal} of ${uid || 'the node'} by ${connection}`;
  return {
    callBegan: (call) => note(nameOf(call), 'began'),
    callEnded: (call, outcome) => note(nameOf(call), outcome),
    callLanded: (call) => note(nameOf(call), 'landed'),
    sandboxStarted: ({ id }, by) => note(id, 'started by', by),
    sandboxEnded: ({ id }, by) => note(id, 'ended by', by ?? 'itself'),
    containerStarted: ({ id }, by) => note(id, 'started by', by),
    containerEnded: ({ id, exitCode }, by) => note(id, 'ended with', exitCode, 'by', by ?? 'itself'),
  };
}

export function sandboxConfig(uid: string, attempt = 0): PodSandboxConfig {
  return {
    metadata: { name: uid, uid, namespace: 'default', attempt },
    logDirectory: `/logs/default_${uid}_${uid}`,
    labels: { 'io.kubernetes.pod.uid': uid },
    annotations: {},
  };
}

export interface StartedPod {
  readonly sandboxId: string;
  readonly id: string;
}

/** A pod of one container with the command `words`. Only for a runtime without latencies and faults. */
export async function startPod(
  { runtime }: Pick<SimulatedBed, 'runtime'>,
  uid: string,
  words: readonly string[] = ['run'],
): Promise<StartedPod> {
  const { sandboxId, id } = await createPod({ runtime }, uid, words);
  await runtime.startContainer(id);
  return { sandboxId, id };
}

export async function createPod(
  { runtime }: Pick<SimulatedBed, 'runtime'>,
  uid: string,
  words: readonly string[] = ['run'],
): Promise<StartedPod> {
  const config = sandboxConfig(uid);
  const sandboxId = await runtime.runPodSandbox(config);
  const labels = { 'io.kubernetes.pod.uid': uid };
  const id = await runtime.createContainer(sandboxId, containerConfig(words, { labels }), config);
  return { sandboxId, id };
}

/** The outcome of a promise, once there is one. */
export interface Outcome {
  /** `done`, or the kind of the error; undefined while there is none. */
  told?: string;
}

export function outcomeOf(promise: Promise<unknown>): Outcome {
  const outcome: Outcome = {};
  promise.then(
    () => (outcome.told = 'done'),
    (error: unknown) => (outcome.told = errorKind(error)),
  );
  return outcome;
}

/** Collects the events of a connection, as `SHORT_TYPE id`. */
export function eventsOf({ runtime }: Pick<SimulatedBed, 'runtime'>): string[] {
  const heard: string[] = [];
  runtime.containerEvents().subscribe((event) => heard.push(textOf(event)));
  return heard;
}

const textOf = ({ containerEventType, containerId }: ContainerEvent): string =>
  `${containerEventType.replace(/CONTAINER_|_EVENT/g, '')} ${containerId}`;
