/** Records of simulated runs, and what a replay of them finds. */
import type { AnyStateMachine } from 'xstate';
import { machines } from '../../../src/agent/machines/index.ts';
import { RecordWriter } from '../../../src/recorder/policies/record-format.ts';
import { RecordReader } from '../../../src/recorder/policies/record-reader.ts';
import { isRoutine } from '../../../src/recorder/policies/record-entry.ts';
import type { Difference } from '../../../src/recorder/replay/replayed-actor.ts';
import { Replay, type ReplayCounts } from '../../../src/recorder/replay/replay.ts';
import { ALL_FAULTS } from '../../../src/simulation/plan/fault-kinds.ts';
import { simulate, type SimulationOptions } from '../../../src/simulation/simulation.ts';
import type { TransitionListener } from '../../../src/types/transition.ts';
import type { SimulatedAgent } from '../../support/simulated-agent.ts';

/** What the flight recorder would write of the agent from now on. */
export function recordOfAgent({ run, clock }: SimulatedAgent): () => string {
  const writer = new RecordWriter(SESSION);
  writer.begin(clock.now());
  run.agent.transitions.subscribe((kind, ...step) => {
    if (!isRoutine(kind)) writer.add(kind, ...step);
  });
  return () => writer.take().lines;
}

const SESSION = { program: '1.2.3', pid: 77, node: 'node-a' };

/** What the flight recorder would write of the run. After `perSession` transitions another session begins. */
export async function recordOf(
  options: Partial<SimulationOptions> & { readonly seed: number },
  perSession = Infinity,
): Promise<string> {
  const records: (() => string)[] = [];
  const listen = (): TransitionListener => {
    const writer = new RecordWriter(SESSION);
    let [text, count, latestMs] = ['', 0, 0];
    writer.begin(0);
    records.push(() => text + writer.take().lines);
    return (kind, actor, atMs, step) => {
      if (isRoutine(kind)) return;
      // Never between the steps of one event: the recorder begins a session by itself, and not within a step.
      if (count >= perSession && atMs > latestMs) {
        text += writer.take().lines;
        writer.begin(atMs);
        count = 0;
      }
      writer.add(kind, actor, atMs, step);
      count += 1;
      latestMs = atMs;
    };
  };
  await simulate({ nodes: 1, pods: 6, hours: 0.5, faults: ALL_FAULTS, listen, ...options });
  return records.map((record) => record()).join('');
}

export function machineOf(chart: string): AnyStateMachine {
  const machine = machines[chart];
  if (machine === undefined) throw new Error(`there is no chart ${chart}`);
  return machine;
}

export interface Replayed extends Omit<ReplayCounts, 'notReplayed' | 'differences'> {
  readonly differences: readonly Difference[];
  readonly notReplayed: Readonly<Record<string, number>>;
}

export function replayed(
  record: string,
  changed: Readonly<Record<string, AnyStateMachine | undefined>> = {},
): Replayed {
  const replay = new Replay({ ...machines, ...changed });
  const reader = new RecordReader();
  const differences = record.split('\n').flatMap((line) => {
    const entry = reader.read(line);
    return entry ? replay.read(entry) : [];
  });
  differences.push(...replay.end());
  const counts = replay.counts();
  return { ...counts, differences, notReplayed: Object.fromEntries(counts.notReplayed) };
}
