/** The paths of the status writer's machine, replayed against the production actor by a server whose answers the test holds back. */
import { afterAll, expect, test } from '@jest/globals';
import type { SnapshotFrom } from 'xstate';
import { StatusWriter } from '../../../src/agent/actors/cluster/status-writer.ts';
import { DesiredPods } from '../../../src/agent/actors/pods/desired-pods.ts';
import { StatusManager } from '../../../src/agent/actors/pods/status-manager.ts';
import {
  type StatusWriterEvent,
  statusWriterMachine,
} from '../../../src/agent/machines/status-writer-machine.ts';
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

const UIDS = PODS.map(({ metadata }) => metadata.uid);

/** Of the write that was begun first. */
const END_EVENTS = UIDS.flatMap((uid): [string, StatusWriterEvent][] => [
  [`answered ${uid}`, { type: 'ANSWERED', uid }],
  [`notAnswered ${uid}`, { type: 'NOT_ANSWERED', uid, problem: 'connection refused' }],
]);

type Snapshot = SnapshotFrom<typeof statusWriterMachine>;

const environment: Environment<typeof statusWriterMachine> = {
  machine: statusWriterMachine,
  input: undefined,
  events: {
    due: { type: 'DUE', uids: UIDS },
    ...Object.fromEntries(END_EVENTS),
    retry: after('retry', 'statusWriter.Waiting'),
    connected: { type: 'CONNECTED' },
    stop: { type: 'STOP' },
  },
  possible: ({ value, context: { underWay } }: Snapshot) => {
    if (value === 'Stopped') return [];
    const ends = underWay.slice(0, 1).flatMap((uid) => [`answered ${uid}`, `notAnswered ${uid}`]);
    return ['due', ...ends, ...(value === 'Waiting' ? ['retry'] : []), 'connected', 'stop'];
  },
  label: ({ value }: Snapshot) => value,
};

class Replay {
  readonly #clock = new VirtualClock();
  readonly #server = new PodServer();
  readonly #manager = new StatusManager(testContext({ clock: this.#clock }));
  readonly #writer: StatusWriter;
  /** Each write has one patch; those that wait for an answer. */
  readonly #held: { resolve(): void; reject(error: Error): void }[] = [];
  #changes = 0;

  constructor() {
    const desired = new DesiredPods();
    for (const pod of PODS) {
      desired.set(pod);
      this.#server.put(pod);
    }
    this.#server.before = (request) =>
      request.startsWith('patch')
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

  get #snapshot(): Snapshot {
    return this.#writer.actor.getSnapshot() as Snapshot;
  }

  get state(): unknown {
    return this.#snapshot.value;
  }

  async step(name: string): Promise<void> {
    if (name === 'due') this.#change();
    if (name.startsWith('answered')) this.#held.shift()?.resolve();
    if (name.startsWith('notAnswered')) this.#fail();
    if (name === 'connected') this.#writer.connected();
    if (name === 'stop') await this.stop();
    if (name === 'retry') await this.#clock.step();
    await settled();
  }

  forgetPods(): void {
    for (const uid of UIDS) this.#manager.forget(uid);
  }

  /** The pods are forgotten, and get a status again. Returns the pods whose write counts no more. */
  comeAgain(): readonly string[] {
    this.forgetPods();
    this.#change();
    return this.#snapshot.context.outlived;
  }

  async stop(): Promise<void> {
    const stopping = this.#writer.stop();
    while (this.#held.length > 0) this.#fail();
    await stopping;
    expect(this.#clock.armed).toBe(0);
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
  for (const { name, after } of path) {
    await run.step(name);
    expect([story(path), run.state]).toEqual([story(path), after.value]);
  }
  await run.stop();
  coverage.replayed(path);
}

afterAll(() => coverage.print('all events in all states'));

test('every event in every state', async () => {
  const paths = shortestPaths(environment);
  expect(paths.length).toBeGreaterThan(12);
  for (const path of paths) await replay(path);
});

test('pods that are forgotten, or forgotten and there again, while statuses are written', async () => {
  const run = new Replay();
  for (const name of ['due', 'notAnswered']) await run.step(name);
  run.forgetPods();
  // Of the pods that are due, nothing is known any more: they are dropped one after another.
  await run.step('answered');
  expect(run.state).toBe('Writing');
  for (const name of ['due', 'notAnswered', 'notAnswered', 'notAnswered']) await run.step(name);
  run.forgetPods();
  await run.step('retry');
  expect(run.state).toBe('Idle');
  await run.step('due');
  expect(run.comeAgain()).toEqual(UIDS);
  await run.stop();
  expect(coverage.uncovered()).toEqual([]);
});
