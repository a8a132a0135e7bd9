/** The paths of the status writer's machine, replayed against the production actor by a server whose answers the test holds back. */
import { afterAll, expect, test } from '@jest/globals';
import type { SnapshotFrom } from 'xstate';
import { StatusWriter } from '../../../src/agent/actors/cluster/status-writer.ts';
import { DesiredPods } from '../../../src/agent/actors/pods/desired-pods.ts';
import { StatusManager } from '../../../src/agent/actors/pods/status-manager.ts';
import { statusWriterMachine } from '../../../src/agent/machines/status-writer-machine.ts';
import { settled, VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { StateletError } from '../../../src/types/errors.ts';
import { PodServer } from '../../support/pod-server.ts';
import { testPod } from '../../support/pods.ts';
import { Coverage } from '../coverage.ts';
import { type Environment, type Path, shortestPaths, story } from '../paths.ts';
import { testContext } from '../../support/test-context.ts';
import { after } from '../../support/child-events.ts';

const coverage = new Coverage(statusWriterMachine);
const BEGUN = { phase: 'Pending', startTime: '2030-01-01T00:00:00Z' };
const PODS = ['a', 'b', 'c'].map((name) => ({ ...testPod({ name }), status: BEGUN }));

const EVENTS = {
  due: { type: 'DUE' },
  answered: { type: 'ANSWERED' },
  notAnswered: { type: 'NOT_ANSWERED', problem: 'connection refused', now: 0 },
  allWritten: { type: 'ALL_WRITTEN' },
  retry: after('retry', 'statusWriter.Waiting'),
  connected: { type: 'CONNECTED' },
  stop: { type: 'STOP' },
} as const;

const POSSIBLE: Readonly<Record<string, readonly (keyof typeof EVENTS)[]>> = {
  Idle: ['due', 'connected', 'stop'],
  Writing: ['due', 'answered', 'notAnswered', 'allWritten', 'connected', 'stop'],
  Waiting: ['due', 'answered', 'notAnswered', 'retry', 'connected', 'stop'],
  Trying: ['due', 'answered', 'notAnswered', 'allWritten', 'connected', 'stop'],
};

type Snapshot = SnapshotFrom<typeof statusWriterMachine>;

const environment: Environment<typeof statusWriterMachine> = {
  machine: statusWriterMachine,
  input: undefined,
  events: EVENTS,
  possible: ({ value }: Snapshot) => POSSIBLE[value] ?? [],
  label: ({ value }: Snapshot) => value,
};

class Replay {
  readonly #clock = new VirtualClock();
  readonly #server = new PodServer();
  readonly #manager = new StatusManager(testContext({ clock: this.#clock }));
  readonly #writer: StatusWriter;
  /** Reads of pods that wait for an answer. */
  readonly #held: { resolve(): void; reject(error: Error): void }[] = [];
  #changes = 0;

  constructor() {
    const desired = new DesiredPods();
    for (const pod of PODS) {
      desired.set(pod);
      this.#server.put(pod);
    }
    this.#server.before = (request) =>
      request.startsWith('get')
        ? new Promise<void>((resolve, reject) => this.#held.push({ resolve, reject }))
        : undefined;
    const context = testContext({ clock: this.#clock, inspect: coverage.inspect });
    this.#writer = new StatusWriter(context, {
      api: this.#server,
      statusManager: this.#manager,
      pods: desired,
      couldHaveRunningContainers: () => false,
    });
    this.#writer.start();
  }

  get state(): unknown {
    return (this.#writer.actor.getSnapshot() as Snapshot).value;
  }

  async step(name: string, next: string | undefined): Promise<void> {
    // What the actor finds nothing to write for, it says in the same turn.
    if (next === 'allWritten') await this.#end(name);
    else await this.#do(name);
  }

  async stop(): Promise<void> {
    const stopping = this.#writer.stop();
    while (this.#held.length > 0) this.#fail();
    await stopping;
    expect(this.#clock.armed).toBe(0);
  }

  async #do(name: string): Promise<void> {
    if (name === 'due') this.#change();
    if (name === 'answered') this.#held.shift()?.resolve();
    if (name === 'notAnswered') this.#fail();
    if (name === 'connected') this.#writer.connected();
    if (name === 'stop') await this.stop();
    if (name === 'retry') await this.#clock.step();
    await settled();
  }

  async #end(name: string): Promise<void> {
    if (name === 'retry' || name === 'connected') {
      while (this.#held.length > 0) this.#fail();
      await settled();
      for (const { metadata } of PODS) this.#manager.forget(metadata.uid);
      await this.#do(name);
      return;
    }
    await this.#do(name);
    while (this.#held.length > 0) await this.#do('answered');
  }

  #change(): void {
    this.#changes += 1;
    for (const pod of PODS) this.#manager.set(pod, { phase: 'Running', message: `change ${this.#changes}` });
  }

  #fail(): void {
    this.#held.shift()?.reject(new StateletError('Unavailable', 'connection refused'));
  }
}

async function replay(path: Path<typeof statusWriterMachine>): Promise<void> {
  const run = new Replay();
  for (const [i, { name, after }] of path.entries()) {
    const next = path[i + 1]?.name;
    await run.step(name, next);
    const reached = next === 'allWritten' ? 'Idle' : after.value;
    expect([story(path), run.state]).toEqual([story(path), reached]);
  }
  await run.stop();
  coverage.replayed(path);
}

afterAll(() => coverage.print('all events in all states'));

test('every event in every state', async () => {
  const paths = shortestPaths(environment);
  expect(paths.length).toBeGreaterThan(12);
  for (const path of paths) await replay(path);
  expect(coverage.uncovered()).toEqual([]);
});
