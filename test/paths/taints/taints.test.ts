/** The paths of the taints machine, replayed against the production actor. Each request to the API server is held until its step. */
import { afterAll, expect, test } from '@jest/globals';
import type { SnapshotFrom } from 'xstate';
import { ConditionTaints } from '../../../src/agent/actors/plugins/condition-taints.ts';
import {
  type TaintsEvent,
  type TaintsFailure,
  taintsMachine,
} from '../../../src/agent/machines/taints-machine.ts';
import { taintedNode } from '../../../src/agent/actors/plugins/tainted-objects.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { after, done, failed } from '../../support/child-events.ts';
import { type ApiRequest, NodeApi, refusal } from '../../support/node-api.ts';
import { testContext } from '../../support/test-context.ts';
import { Coverage } from '../coverage.ts';
import { type Environment, type Path, shortestPaths } from '../paths.ts';
import { replaying } from '../replaying.ts';

type TaintsState = SnapshotFrom<typeof taintsMachine>;

const CONDITION = { name: 'a', type: 'NODE_CONDITION', effects: ['NoSchedule'], met: true } as const;
const OTHERS = [{ key: 'of-others', effect: 'NoSchedule' }];

const failure = (more: Partial<TaintsFailure> = {}) =>
  failed('writeTaints', { problem: '', isOutdated: false, isRefused: false, askedMs: undefined, ...more });

const EVENTS = {
  stop: { type: 'STOP' },
  due: after('look', 'taints.Settled'),
  backedOff: after('backOff', 'taints.BackingOff'),
  /** The taints are as they should be when it is looked at. */
  same: done('writeTaints', 'Same'),
  written: done('writeTaints', 'Written'),
  /** There was nothing to write any more when the object had been read. */
  needless: done('writeTaints', 'Written'),
  changed: failure({ isOutdated: true }),
  forbidden: failure({ isRefused: true }),
  unwritten: failure(),
  unread: failure(),
} as const satisfies Record<string, TaintsEvent>;
type Name = keyof typeof EVENTS;

const POSSIBLE: Readonly<Record<TaintsState['value'], readonly Name[]>> = {
  Settled: ['due', 'stop'],
  Writing: ['same', 'written', 'needless', 'changed', 'forbidden', 'unwritten', 'unread', 'stop'],
  BackingOff: ['backedOff', 'stop'],
  Stopped: [],
};

const environment: Environment<typeof taintsMachine> = {
  machine: taintsMachine,
  input: undefined,
  events: EVENTS,
  possible: ({ value }) => POSSIBLE[value],
  label: ({ value, context }) => [value, ...Object.values(essence(context))].join(),
};

/** More than two failures make no difference. */
function essence({ failures, conflicts, isRefused, problem }: TaintsState['context']) {
  return { failures: Math.min(failures, 2), conflicts, isRefused, hasProblem: problem !== undefined };
}

interface Held {
  readonly request: ApiRequest;
  readonly proceed: () => void;
  readonly fail: (error: Error) => void;
}

class TaintsReplay {
  readonly #clock = new VirtualClock();
  readonly #api = new NodeApi(() => this.#clock.now());
  readonly #taints: ConditionTaints;
  #held: Held[] = [];
  #holds = false;
  #isSame = false;

  constructor(coverage: Coverage) {
    this.#api.putNode({ metadata: { name: 'node-1' }, spec: { taints: OTHERS } });
    this.#api.fault = (request) =>
      new Promise((proceed, fail) => void this.#held.push({ request, proceed, fail }));
    const context = testContext({ clock: this.#clock, inspect: coverage.inspect });
    this.#taints = new ConditionTaints(context, {
      object: taintedNode({
        api: this.#api,
        nodeName: 'node-1',
        node: () => this.#api.node,
      }),
      conditions: { conditions: () => (this.#holds ? [CONDITION] : []) },
      conditionTransitionPeriodMs: 0,
    });
    this.#taints.start();
  }

  get state(): TaintsState {
    return this.#taints.actor.getSnapshot() as TaintsState;
  }

  /** `isSame`: nothing differs when the taints are looked at next. That is found out at once: there is no state to check before it. */
  async step(name: Name, isSame: boolean): Promise<void> {
    this.#isSame = isSame;
    await this.#bringAbout[name]();
    await this.#clock.advance(0);
    if (!isSame) this.#check();
  }

  async stop(): Promise<void> {
    this.#taints.stop();
    for (const { proceed } of this.#held) proceed();
    await this.#clock.advance(0);
    expect(this.#clock.armed).toBe(0);
  }

  readonly #bringAbout: Readonly<Record<Name, () => void | Promise<void>>> = {
    stop: () => this.#taints.stop(),
    due: () => this.#look(),
    backedOff: () => this.#look(),
    same: () => undefined,
    written: async () => {
      await this.#read();
      this.#take('patch').proceed();
    },
    needless: async () => {
      this.#holds = this.#hasTaint();
      await this.#read();
    },
    changed: () => this.#unwritten('Conflict'),
    forbidden: () => this.#unwritten('Forbidden'),
    unwritten: () => this.#unwritten('InternalError'),
    unread: () => this.#take('get').fail(refusal('InternalError')),
  };

  /** The condition comes or goes before the node is looked at. */
  async #look(): Promise<void> {
    this.#holds = this.#hasTaint() === this.#isSame;
    await this.#clock.step();
  }

  async #read(): Promise<void> {
    this.#take('get').proceed();
    await this.#clock.advance(0);
  }

  async #unwritten(reason: Parameters<typeof refusal>[0]): Promise<void> {
    await this.#read();
    if (this.#isSame) this.#holds = this.#hasTaint();
    this.#take('patch').fail(refusal(reason));
  }

  #hasTaint(): boolean {
    return this.#api.node?.spec?.taints?.some(({ key }) => key === 'katalyst.kubewharf.io/a') === true;
  }

  #take(verb: ApiRequest['verb']): Held {
    const [held, ...others] = this.#held.filter(({ request }) => request.signal?.aborted === false);
    expect([held?.request.verb, others]).toEqual([verb, []]);
    this.#held = this.#held.filter((other) => other !== held);
    return held!;
  }

  /** One thing at a time is waited for, and a taint of others is never touched. */
  #check(): void {
    const { value } = this.state;
    const underWay = this.#held.filter(({ request }) => request.signal?.aborted === false);
    const writes = value === 'Writing';
    const waits = value === 'Settled' || value === 'BackingOff';
    expect([value, underWay.length, this.#clock.armed]).toEqual([value, writes ? 1 : 0, waits ? 1 : 0]);
    expect(this.#api.node?.spec?.taints).toEqual(expect.arrayContaining(OTHERS));
    if (value === 'Settled') expect(this.#hasTaint()).toBe(this.#holds);
  }
}

const coverage = new Coverage(taintsMachine);

afterAll(() => coverage.print('all events in all states'));

async function replay(path: Path<typeof taintsMachine>): Promise<void> {
  const it = new TaintsReplay(coverage);
  const steps = async () => {
    for (const [index, { name, after }] of path.entries()) {
      const isSame = path[index + 1]?.name === 'same';
      await it.step(name as Name, isSame);
      if (isSame) continue;
      const { value, context } = it.state;
      expect({ value, ...essence(context) }).toEqual({ value: after.value, ...essence(after.context) });
    }
  };
  await replaying({ path, coverage, steps, end: () => it.stop() });
}

test('every event in every state', async () => {
  const paths = shortestPaths(environment);
  expect(paths.length).toBeGreaterThan(30);
  for (const path of paths) await replay(path);
});

test('every state, transition and guard is covered', () => {
  expect(coverage.uncovered()).toEqual([]);
});
