/** The paths of the resize machine, replayed against the production actors. What is refused, and what fails, is said by the test. */
import { afterAll, expect, test } from '@jest/globals';
import type { InspectionEvent, SnapshotFrom } from 'xstate';
import { ResizeStates } from '../../../src/agent/actors/resize/resize-states.ts';
import { type ResizeMachineEvent, resizeMachine } from '../../../src/agent/machines/resize-machine.ts';
import { allocationFromPod } from '../../../src/agent/policies/resize/allocation.ts';
import { isAsBefore, type ResizeConditions } from '../../../src/agent/policies/resize/resize-conditions.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { testPod } from '../../support/pods.ts';
import { testContext } from '../../support/test-context.ts';
import { Coverage } from '../coverage.ts';
import { type Environment, type Path, shortestPaths } from '../paths.ts';
import { replaying } from '../replaying.ts';

type ResizeState = SnapshotFrom<typeof resizeMachine>;

const condition = (type: string, reason: string, message: string, observedGeneration: number) => {
  const told = reason === '' ? {} : { reason, message };
  return { type, status: 'True' as const, observedGeneration, ...told };
};
const PENDING = {
  none: undefined,
  deferred: condition('PodResizePending', 'Deferred', 'no room', 1),
  deferredAgain: condition('PodResizePending', 'Deferred', 'no room', 2),
  infeasible: condition('PodResizePending', 'Infeasible', 'never', 1),
} as const;
const UNDER_WAY = {
  none: undefined,
  going: condition('PodResizeInProgress', '', '', 1),
  failed: condition('PodResizeInProgress', 'Error', 'refused', 1),
  failedAgain: condition('PodResizeInProgress', 'Error', 'refused again', 1),
} as const;
type Pending = keyof typeof PENDING;
type UnderWay = keyof typeof UNDER_WAY;

/** The conditions after an event, by those before it; undefined where it cannot happen. */
type After = (pending: Pending, underWay: UnderWay) => readonly [Pending, UnderWay] | undefined;

const CAUSES = {
  ASKED: { asked: (pending, underWay) => [pending, underWay] },
  REFUSED: {
    deferred: (_, underWay) => ['deferred', underWay],
    deferredAgain: (_, underWay) => ['deferredAgain', underWay],
    infeasible: (_, underWay) => ['infeasible', underWay],
  },
  GRANTED: { granted: () => ['none', 'going'] },
  WITHDRAWN: { withdrawn: (_, underWay) => ['none', underWay] },
  UNDER_WAY: { underWay: (pending, underWay) => [pending, underWay === 'none' ? 'going' : underWay] },
  FAILED: {
    failed: (pending) => [pending, 'failed'],
    failedAgain: (pending) => [pending, 'failedAgain'],
  },
  ACTUATED: { actuated: (pending, underWay) => (underWay === 'none' ? undefined : [pending, 'none']) },
} as const satisfies Partial<Record<ResizeMachineEvent['type'], Record<string, After>>>;

const keysOf = <Key extends string>(record: Readonly<Record<Key, unknown>>) => Object.keys(record) as Key[];
const COMBINATIONS = keysOf(PENDING).flatMap((pending) =>
  keysOf(UNDER_WAY).map((underWay) => [pending, underWay] as const),
);

const conditionsOf = (pending: Pending, underWay: UnderWay): ResizeConditions => ({
  ...(PENDING[pending] && { pending: PENDING[pending] }),
  ...(UNDER_WAY[underWay] && { inProgress: UNDER_WAY[underWay] }),
});

function eventsOf(): Readonly<Record<string, ResizeMachineEvent>> {
  const events: Record<string, ResizeMachineEvent> = {};
  for (const [pending, underWay] of COMBINATIONS) {
    const recalled = conditionsOf(pending, underWay);
    events[`recalled ${pending} ${underWay}`] = { type: 'RECALLED', conditions: recalled };
    for (const type of keysOf(CAUSES)) {
      for (const [name, after] of Object.entries<After>(CAUSES[type])) {
        const conditions = after(pending, underWay);
        if (conditions)
          events[`${name} ${pending} ${underWay}`] = { type, conditions: conditionsOf(...conditions) };
      }
    }
  }
  return events;
}

/** The names of the conditions. */
function kindOf(conditions: ResizeConditions): string {
  const found = COMBINATIONS.find((names) => isAsBefore(conditionsOf(...names), conditions));
  return found?.join(' ') ?? JSON.stringify(conditions);
}

const REQUEST: Readonly<Record<ResizeState['value']['Request'], readonly string[]>> = {
  Granted: ['asked'],
  Judging: ['asked', 'deferred', 'deferredAgain', 'infeasible', 'granted', 'withdrawn'],
  Deferred: ['asked', 'deferred', 'deferredAgain', 'infeasible', 'granted', 'withdrawn'],
  Infeasible: ['asked', 'withdrawn'],
};
const ACTUATION: Readonly<Record<ResizeState['value']['Actuation'], readonly string[]>> = {
  Actuated: ['underWay', 'failed'],
  InProgress: ['underWay', 'failed', 'actuated'],
  Failing: ['underWay', 'failed', 'failedAgain', 'actuated'],
};

const isAtRest = ({ value }: ResizeState) => value.Request === 'Granted' && value.Actuation === 'Actuated';

const environment: Environment<typeof resizeMachine> = {
  machine: resizeMachine,
  input: undefined,
  events: eventsOf(),
  possible: (state) => {
    const { value, context } = state;
    const names = [...REQUEST[value.Request], ...ACTUATION[value.Actuation]];
    const own = names.map((name) => `${name} ${kindOf(context.conditions)}`);
    // A former agent has had another actor.
    return isAtRest(state) ? [...own, ...COMBINATIONS.map((names) => `recalled ${names.join(' ')}`)] : own;
  },
  label: ({ value, context }) => [...Object.values(value), kindOf(context.conditions)].join(),
};

/** With what the spec asks for, and that generation of it. */
function pod(generation: number, conditions: ResizeConditions = {}): Pod {
  const { metadata, spec } = testPod();
  const containers = spec.containers.map((one) => ({ ...one, resources: { requests: { cpu: '2' } } }));
  const written = [conditions.pending, conditions.inProgress].filter((one) => one !== undefined);
  return {
    metadata: { ...metadata, generation },
    spec: { ...spec, containers },
    status: { conditions: written },
  };
}

const FORMER = allocationFromPod(testPod());

class ResizeReplay {
  readonly #states: ResizeStates;
  readonly #coverage: Coverage;
  #actor: InspectionEvent['actorRef'] | undefined;

  constructor(coverage: Coverage) {
    this.#coverage = coverage;
    this.#states = new ResizeStates(testContext({ inspect: (event) => this.#inspect(event) }));
  }

  get state(): ResizeState | undefined {
    return this.#actor?.getSnapshot() as ResizeState | undefined;
  }

  step(name: string): void {
    const [what = '', pending = '', underWay = ''] = name.split(' ');
    const before = conditionsOf(pending as Pending, underWay as UnderWay);
    if (what === 'recalled') this.#states.recall(pod(1, before));
    else this.#bringAbout[what]?.();
  }

  readonly #bringAbout: Readonly<Record<string, () => void>> = {
    asked: () => this.#states.asked(pod(1)),
    deferred: () => this.#decide(1, { reason: 'OutOfcpu', message: 'no room' }),
    deferredAgain: () => this.#decide(2, { reason: 'OutOfcpu', message: 'no room' }),
    infeasible: () => this.#decide(1, { reason: 'Infeasible', message: 'never' }),
    granted: () => this.#decide(1),
    withdrawn: () => this.#states.withdrawn(pod(1)),
    underWay: () => this.#states.progress(pod(1), true),
    failed: () => this.#states.failed(pod(1), 'refused'),
    failedAgain: () => this.#states.failed(pod(1), 'refused again'),
    actuated: () => this.#states.progress(pod(1), false),
  };

  /** What the status says, and the actor while there is one. */
  get conditions(): ResizeConditions {
    return this.#states.conditionsOf(pod(1).metadata.uid);
  }

  #decide(generation: number, refusal?: { readonly reason: string; readonly message: string }): void {
    this.#states.decide(pod(generation), FORMER, () => refusal);
  }

  #inspect(event: InspectionEvent): void {
    if (event.type === '@xstate.actor') this.#actor = event.actorRef;
    this.#coverage.inspect(event);
  }
}

const coverage = new Coverage(resizeMachine);

afterAll(() => coverage.print('all events in all states'));

async function replay(path: Path<typeof resizeMachine>): Promise<void> {
  const it = new ResizeReplay(coverage);
  const steps = () => {
    for (const { name, after } of path) {
      it.step(name);
      const expected = { value: after.value, kind: kindOf(after.context.conditions) };
      expect({ value: it.state?.value, kind: kindOf(it.conditions) }).toEqual(expected);
    }
    return Promise.resolve();
  };
  await replaying({ path, coverage, steps });
}

test('every event in every state', async () => {
  const paths = shortestPaths(environment);
  expect(paths.length).toBeGreaterThan(100);
  for (const path of paths) await replay(path);
});

test('every state, transition and guard is covered', () => {
  expect(coverage.uncovered()).toEqual([]);
});
