/** The paths of the lease machine, replayed against the production actor. Each request to the API server is held until its step. */
import { afterAll, expect, test } from '@jest/globals';
import type { SnapshotFrom } from 'xstate';
import { NodeLease } from '../../../src/agent/actors/cluster/node-lease.ts';
import {
  type LeaseEvent,
  type LeaseFailure,
  leaseMachine,
} from '../../../src/agent/machines/lease-machine.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import type { Lease } from '../../../src/types/kubernetes.ts';
import { after, done, failed } from '../../support/child-events.ts';
import { type ApiRequest, NodeApi, refusal } from '../../support/node-api.ts';
import { testContext } from '../../support/test-context.ts';
import { Coverage } from '../coverage.ts';
import { type Environment, joinedPaths, type Path } from '../paths.ts';
import { replaying } from '../replaying.ts';

type LeaseState = SnapshotFrom<typeof leaseMachine>;

const NOW = Date.UTC(2030, 0, 1);
const LEASE: Lease = { metadata: { name: 'node-1' } };
const failure = (reason: Parameters<typeof refusal>[0]): LeaseFailure => {
  const isOutdated = reason === 'Conflict' || reason === 'NotFound';
  return { problem: refusal(reason).message, isOutdated, now: NOW };
};

const SENT = {
  known: { type: 'NODE_KNOWN', uid: 'a', now: NOW },
  madeAnew: { type: 'NODE_KNOWN', uid: 'b', now: NOW },
  lost: { type: 'NODE_LOST', now: NOW },
  stop: { type: 'STOP' },
} as const satisfies Record<string, LeaseEvent>;
const EVENTS = {
  ...SENT,
  backedOff: after('backOff', 'lease.BackingOff'),
  due: after('renewal', 'lease.Waiting'),
  found: done('ensureLease', { lease: LEASE }),
  created: done('ensureLease', { lease: LEASE, renewedAt: NOW }),
  unread: failed('ensureLease', failure('InternalError')),
  uncreated: failed('ensureLease', failure('Forbidden')),
  renewed: done('renewLease', { lease: LEASE, renewedAt: NOW }),
  changed: failed('renewLease', failure('Conflict')),
  deleted: failed('renewLease', failure('NotFound')),
  unwritten: failed('renewLease', failure('InternalError')),
} satisfies Record<string, LeaseEvent>;
type Name = keyof typeof EVENTS;

const POSSIBLE: Readonly<Record<LeaseState['value'], readonly Name[]>> = {
  AwaitingNode: [],
  Ensuring: ['found', 'created', 'unread', 'uncreated'],
  BackingOff: ['backedOff'],
  Renewing: ['renewed', 'changed', 'deleted', 'unwritten'],
  Waiting: ['due'],
  Stopped: [],
};

const environment: Environment<typeof leaseMachine> = {
  machine: leaseMachine,
  input: { now: NOW },
  events: EVENTS,
  possible: ({ value }) => [
    ...POSSIBLE[value],
    ...(value === 'Stopped' ? [] : ['known', 'madeAnew', 'lost', 'stop']),
  ],
  label: ({ value, context }) => [value, ...Object.values(essence(context))].join(),
};

/** The parts of the context that decide what comes next. More than three failures make no difference. */
function essence({ nodeUid, readFailures, failedTries, isFresh, problem }: LeaseState['context']) {
  return { nodeUid, readFailures: Math.min(readFailures, 3), failedTries, isFresh, problem };
}

interface Held {
  readonly request: ApiRequest;
  readonly proceed: () => void;
  readonly fail: (error: Error) => void;
}

class LeaseReplay {
  readonly #clock = new VirtualClock(NOW);
  readonly #api = new NodeApi(() => this.#clock.now());
  readonly #lease: NodeLease;
  #held: Held[] = [];

  constructor(coverage: Coverage) {
    this.#api.fault = (request) =>
      new Promise((proceed, fail) => void this.#held.push({ request, proceed, fail }));
    const context = testContext({ clock: this.#clock, inspect: coverage.inspect });
    const api = this.#api;
    this.#lease = new NodeLease(context, {
      api,
      nodeName: 'node-1',
      leaseDurationSeconds: 40,
      timeoutMs: 10_000,
    });
    this.#lease.start();
  }

  get state(): LeaseState {
    return this.#lease.actor.getSnapshot() as LeaseState;
  }

  async step(name: Name): Promise<void> {
    await this.#bringAbout[name]();
    await this.#clock.advance(0);
    this.#check();
  }

  async stop(): Promise<void> {
    this.#lease.stop();
    for (const { proceed } of this.#held) proceed();
    await this.#clock.advance(0);
    expect(this.#clock.armed).toBe(0);
  }

  readonly #bringAbout: Readonly<Record<Name, () => void | Promise<void>>> = {
    known: () => this.#lease.nodeKnown(SENT.known.uid),
    madeAnew: () => this.#lease.nodeKnown(SENT.madeAnew.uid),
    lost: () => this.#lease.nodeLost(),
    stop: () => this.#lease.stop(),
    backedOff: () => this.#clock.step(),
    due: () => this.#clock.step(),
    found: () => {
      this.#api.putLease(LEASE);
      this.#take('get').proceed();
    },
    created: async () => {
      await this.#findNone();
      this.#take('create').proceed();
    },
    unread: () => this.#take('get').fail(refusal('InternalError')),
    uncreated: async () => {
      await this.#findNone();
      this.#take('create').fail(refusal('Forbidden'));
    },
    renewed: () => this.#take('update').proceed(),
    changed: () => this.#take('update').fail(refusal('Conflict')),
    deleted: () => this.#take('update').fail(refusal('NotFound')),
    unwritten: () => this.#take('update').fail(refusal('InternalError')),
  };

  async #findNone(): Promise<void> {
    this.#api.lease = undefined;
    this.#take('get').proceed();
    await this.#clock.advance(0);
  }

  #take(verb: ApiRequest['verb']): Held {
    const [held, ...others] = this.#held.filter(({ request }) => request.signal?.aborted === false);
    expect([held?.request.verb, others]).toEqual([verb, []]);
    this.#held = this.#held.filter((other) => other !== held);
    return held!;
  }

  /** One thing at a time is waited for, and a lease is never written that nobody owns. */
  #check(): void {
    const { value, context } = this.state;
    const underWay = this.#held.filter(({ request }) => request.signal?.aborted === false);
    const asks = value === 'Ensuring' || value === 'Renewing';
    const waits = value === 'BackingOff' || value === 'Waiting';
    expect([value, underWay.length, this.#clock.armed]).toEqual([value, asks ? 1 : 0, waits ? 1 : 0]);
    for (const { request } of underWay) expect(request.what).toBe('lease');
    if (value !== 'Stopped') expect(context.nodeUid === undefined).toBe(value === 'AwaitingNode');
  }
}

const coverage = new Coverage(leaseMachine);

afterAll(() => coverage.print('all events in all states'));

async function replay(path: Path<typeof leaseMachine>): Promise<void> {
  const it = new LeaseReplay(coverage);
  const steps = async () => {
    for (const { name, after } of path) {
      await it.step(name as Name);
      const { value, context } = it.state;
      expect({ value, ...essence(context) }).toEqual({ value: after.value, ...essence(after.context) });
    }
    await it.stop();
  };
  await replaying({ path, coverage, steps });
}

test('every event in every state', async () => {
  const paths = joinedPaths(environment);
  expect(paths.length).toBeGreaterThan(200);
  for (const path of paths) await replay(path);
});

test('every state, transition and guard is covered', () => {
  expect(coverage.uncovered()).toEqual([]);
});
