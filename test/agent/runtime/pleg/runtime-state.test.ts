import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { RuntimeState } from '../../../../src/agent/runtime/pleg/runtime-state.ts';
import type { RuntimeCondition, RuntimeStatus } from '../../../../src/types/cri.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import { monitorPid, processRuntimeBed, type ProcessRuntimeBed } from '../../../support/process-runtime.ts';
import { settled, VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { testContext } from '../../../support/test-context.ts';
import { waitFor } from '../../../support/wait-for.ts';

const NO_ANSWER = 'container runtime is down: it has not answered for 30 s';
const DOWN = () => Promise.reject(new StateletError('Unavailable', 'nobody answers'));
const condition = (type: RuntimeCondition['type'], status: boolean, message = ''): RuntimeCondition => ({
  type,
  status,
  reason: status ? '' : 'Broken',
  message,
});
const statusOf = (...all: RuntimeCondition[]): RuntimeStatus => ({
  conditions: all,
  supplementalGroupsPolicy: true,
});
const conditions = (...all: RuntimeCondition[]) => Promise.resolve(statusOf(...all));

let bed: ProcessRuntimeBed;
let clock: VirtualClock;
let told: string[];
let asked: number;
/** The status that the runtime answers; undefined for the status of the real runtime. */
let answer: ((signal?: AbortSignal) => Promise<RuntimeStatus>) | undefined;
let prepare: () => Promise<void>;

beforeAll(() => {
  bed = processRuntimeBed();
});
afterAll(async () => bed.cleanup());
beforeEach(() => {
  clock = new VirtualClock();
  told = [];
  asked = 0;
  answer = undefined;
  prepare = () => Promise.resolve();
});

const newState = () =>
  new RuntimeState(testContext({ clock }), {
    runtime: {
      ...bed.runtime,
      status: (options) => {
        asked += 1;
        return answer ? answer(options?.signal) : bed.runtime.status(options);
      },
    },
    prepare: () => prepare(),
    onReady: () => told.push('ready'),
    onNotReady: (problem) => told.push(problem),
    onNetworkChange: () => told.push('network'),
  });

describe('ready', () => {
  test('a runtime that answers is ready; this is reported once, and no timer is armed', async () => {
    const state = newState();
    await state.check();
    await state.check();
    expect([told, clock.armed, state.networkProblem()]).toEqual([['ready'], 0, undefined]);
  });

  test('the preparation runs once, before the runtime is ready', async () => {
    prepare = () => {
      told.push('prepared');
      return Promise.resolve();
    };
    const state = newState();
    await state.check();
    await state.check();
    expect(told).toEqual(['prepared', 'ready']);
  });

  test('while the preparation fails, the runtime is not ready and is checked again', async () => {
    answer = () => conditions();
    prepare = () => Promise.reject(new Error('the first relist failed'));
    const state = newState();
    await state.check();
    expect(told).toEqual(['the first relist failed']);
    prepare = () => Promise.resolve();
    await clock.advance(100);
    expect(told).toEqual(['the first relist failed', 'ready']);
  });

  test('when the runtime comes back, the preparation runs again', async () => {
    let prepared = 0;
    prepare = () => {
      prepared += 1;
      return Promise.resolve();
    };
    answer = () => conditions();
    const state = newState();
    await state.check();
    answer = DOWN;
    await state.check();
    answer = () => conditions();
    await state.check();
    expect([prepared, told]).toEqual([2, ['ready', 'nobody answers', 'ready']]);
  });
});

describe('not ready', () => {
  beforeEach(() => {
    answer = DOWN;
  });

  test('a runtime that does not answer is asked again after 100 ms, doubling to 5 s', async () => {
    const state = newState();
    await state.check();
    const delays: (number | undefined)[] = [];
    for (let attempt = 0; attempt < 8; attempt++) {
      delays.push(clock.nextInMs);
      await clock.advance(clock.nextInMs ?? 0);
    }
    expect(delays).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
    expect(told).toEqual(['nobody answers']);
  });

  test('the delay starts over after the runtime was ready', async () => {
    const state = newState();
    await state.check();
    await clock.advance(3_000);
    answer = () => conditions();
    await clock.advance(5_000);
    answer = DOWN;
    await state.check();
    expect([told.at(-1), clock.nextInMs]).toEqual(['nobody answers', 100]);
  });

  test('a runtime that reports that it is not ready is not ready', async () => {
    answer = () => conditions(condition('RuntimeReady', false, 'still starting'));
    await newState().check();
    expect(told).toEqual(['Broken: still starting']);
  });

  test('a problem that differs from the last one is reported', async () => {
    const state = newState();
    await state.check();
    answer = () => conditions(condition('RuntimeReady', false, 'still starting'));
    await clock.advance(300);
    expect(told).toEqual(['nobody answers', 'Broken: still starting']);
  });

  test('one timer checks the runtime at most every 5 s, however many other checks there are', async () => {
    const state = newState();
    for (let check = 0; check < 20; check++) await state.check();
    expect(clock.armed).toBe(1);
    await clock.advance(10_000);
    asked = 0;
    await clock.advance(60_000);
    expect([asked, clock.armed]).toEqual([12, 1]);
  });

  test('no timer stays armed when another caller finds the runtime ready', async () => {
    const state = newState();
    await state.check();
    answer = () => conditions();
    await state.check();
    expect([told, clock.armed]).toEqual([['nobody answers', 'ready'], 0]);
  });

  test('the features of the runtime are known when it has answered', async () => {
    answer = () => conditions();
    const state = newState();
    expect(state.supplementalGroupsPolicy).toBe(false);
    await state.check();
    expect(state.supplementalGroupsPolicy).toBe(true);
  });

  test('a runtime that has not answered for 30 s is down, even if its calls may take longer', async () => {
    let given: AbortSignal | undefined;
    answer = (signal) => {
      given = signal;
      return new Promise(() => undefined);
    };
    const state = newState();
    void state.check();
    await clock.advance(29_999);
    expect([told, given?.aborted]).toEqual([[], false]);
    await clock.advance(1);
    expect([told, given?.aborted]).toEqual([[NO_ANSWER], true]);
    await clock.advance(100);
    expect(asked).toBe(2);
    answer = () => conditions();
    await clock.advance(30_200);
    expect([told, clock.armed]).toEqual([[NO_ANSWER, 'ready'], 0]);
  });

  test('a runtime that answers and hangs during the preparation is down', async () => {
    answer = () => conditions();
    prepare = () => new Promise(() => undefined);
    const state = newState();
    void state.check();
    await clock.advance(30_000);
    expect(told).toEqual([NO_ANSWER]);
    prepare = () => Promise.resolve();
    await clock.advance(100);
    expect([told, clock.armed]).toEqual([[NO_ANSWER, 'ready'], 0]);
  });

  test('a stop does not wait for a runtime that hangs', async () => {
    answer = () => new Promise(() => undefined);
    const state = newState();
    const checked = state.check();
    await clock.advance(0);
    state.stop();
    await checked;
    expect([told, clock.armed]).toEqual([[], 0]);
  });

  test('only one check runs at a time', async () => {
    const { promise, resolve } = Promise.withResolvers<RuntimeStatus>();
    answer = () => promise;
    const state = newState();
    const first = state.check();
    await state.check();
    resolve(statusOf());
    await first;
    expect([asked, told]).toEqual([1, ['ready']]);
  });
});

describe('for the status of the node', () => {
  test('a runtime that was not asked has no status and was never ready', () => {
    expect(newState().health()).toEqual({ status: undefined, readyAt: undefined });
  });

  test('the time of the last answer that it is ready, and its last status', async () => {
    const state = newState();
    const good = statusOf(condition('RuntimeReady', true));
    answer = () => Promise.resolve(good);
    const readyAt = clock.now();
    await state.check();
    await clock.advance(5_000);
    const bad = statusOf(condition('RuntimeReady', false));
    answer = () => Promise.resolve(bad);
    await state.check();
    expect(state.health()).toEqual({ status: bad, readyAt });
    answer = DOWN;
    await state.check();
    expect(state.health()).toEqual({ status: bad, readyAt });
    state.stop();
  });
});

describe('the network', () => {
  test('a runtime whose network is not ready is ready itself, and gives the reason for the network problem', async () => {
    answer = () =>
      conditions(condition('RuntimeReady', true), condition('NetworkReady', false, 'no CNI config'));
    const state = newState();
    await state.check();
    expect([told, state.networkProblem()]).toEqual([['network', 'ready'], 'Broken: no CNI config']);
  });

  test('the problem ends with the next check that finds the network ready', async () => {
    answer = () => conditions(condition('NetworkReady', false, 'no CNI config'));
    const state = newState();
    await state.check();
    told.length = 0;
    answer = () => conditions(condition('NetworkReady', true));
    await state.check();
    await state.check();
    expect([told, state.networkProblem()]).toEqual([['network'], undefined]);
  });
});

describe('stopped', () => {
  test('no timer is armed, and there is no further check or report', async () => {
    answer = DOWN;
    const state = newState();
    await state.check();
    await state.check();
    state.stop();
    expect(clock.armed).toBe(0);
    asked = 0;
    await state.check();
    await clock.advance(60_000);
    expect([asked, told]).toEqual([0, ['nobody answers']]);
  });

  test('a late answer is not reported', async () => {
    const { promise, resolve } = Promise.withResolvers<RuntimeStatus>();
    answer = () => promise;
    const state = newState();
    const check = state.check();
    state.stop();
    resolve(statusOf());
    await check;
    await settled();
    expect([told, clock.armed]).toEqual([[], 0]);
  });
});

test('the real runtime is ready again after its monitor was killed', async () => {
  const state = newState();
  await state.check();
  const pid = await monitorPid(bed.rootDir);
  process.kill(pid, 'SIGKILL');
  await waitFor(
    async () => {
      await state.check();
      return (await monitorPid(bed.rootDir).catch(() => pid)) !== pid;
    },
    { what: 'another monitor' },
  );
  await state.check();
  expect(told.at(-1)).toBe('ready');
});
