import { describe, expect, test } from '@jest/globals';
import { probeMachine, type ProbeEvent } from '../../../src/agent/machines/probe-machine.ts';
import type {
  ProbeKind,
  ProbeOutcome,
  SeenContainer,
  Sighting,
} from '../../../src/agent/policies/probes/probe.ts';
import type { Container } from '../../../src/types/kubernetes.ts';
import { testPod } from '../../support/pods.ts';
import { Stepper } from '../../support/stepper.ts';

const NOW = Date.UTC(2030, 0, 1);
const PROBE = { periodSeconds: 10, failureThreshold: 2, successThreshold: 1 };

type Fields = Partial<NonNullable<Container['livenessProbe']>>;
const fresh = (kind: ProbeKind = 'liveness', probe: Fields = {}) =>
  new Stepper(probeMachine, {
    target: {
      kind,
      pod: testPod(),
      container: { name: 'main', [`${kind}Probe`]: { ...PROBE, ...probe } },
    },
    beat: { agentStartedAt: NOW - 100_000, anchorAt: NOW, catchUpAt: NOW },
  });

const running = (id: string, started: boolean, startedAt = NOW): SeenContainer => ({
  id,
  started,
  state: 'running',
  startedAt,
});
const seen = (container?: SeenContainer, phase = 'Running'): Sighting => ({ phase, container });
const status = (sighting?: Sighting, now = NOW): ProbeEvent => ({ type: 'STATUS', seen: sighting, now });
const due = (sighting: Sighting, now: number): ProbeEvent => ({ type: 'DUE', seen: sighting, now });
const rest = (sighting: Sighting, now = NOW): ProbeEvent => ({ type: 'AT_REST', seen: sighting, now });
const probed = (outcome: ProbeOutcome, now = NOW): ProbeEvent => ({ type: 'PROBED', outcome, now });
const STOP: ProbeEvent = { type: 'STOP' };

const UP = seen(running('c1', true));
const STARTING = seen(running('c1', false));
const NEXT = seen(running('c2', true));
const ENDED = seen({ id: 'c1', started: false, state: 'terminated', exitCode: 1 });

const waiting = (kind: ProbeKind = 'liveness', probe: Fields = {}) =>
  fresh(kind, probe).send(status(kind === 'startup' ? STARTING : UP));
const probing = (kind: ProbeKind = 'liveness', probe: Fields = {}) =>
  waiting(kind, probe).send(due(kind === 'startup' ? STARTING : UP, NOW));
const draining = () => probing().send(status(ENDED));

describe('Idle', () => {
  test('is the initial state: no action runs, and no timer is armed', () => {
    const it = fresh();
    expect([it.state, it.asked]).toEqual(['Idle', []]);
  });

  test.each([
    ['there is no status yet', undefined],
    ['the container has not been created', seen()],
    ['the container waits to be started', seen({ id: 'c1', started: false, state: 'waiting' })],
    ['the container has ended', ENDED],
    ['the pod has ended', seen(running('c1', true), 'Failed')],
  ])('stays while %s', (_, sighting) => {
    const it = fresh().send(status(sighting));
    expect([it.state, it.asked]).toEqual(['Idle', []]);
  });

  test.each(['liveness', 'readiness'] as const)('%s waits until the container has started', (kind) => {
    expect(fresh(kind).send(status(STARTING)).state).toBe('Idle');
    expect(fresh(kind).send(status(STARTING), status(UP)).state).toBe('Waiting');
  });

  test('startup runs only for a container that has not started', () => {
    expect(fresh('startup').send(status(UP)).state).toBe('Idle');
    expect(fresh('startup').send(status(STARTING)).state).toBe('Waiting');
  });

  test.each([
    ['liveness', 'Success'],
    ['readiness', 'Failure'],
    ['startup', 'UNKNOWN'],
  ] as const)('before its first run, %s counts as %s', (kind, result) => {
    expect(waiting(kind).context.record).toMatchObject({ containerId: 'c1', result });
  });

  test('a container that an earlier agent started has no result before the first run', () => {
    const old = seen(running('c1', true, NOW - 200_000));
    expect(fresh().send(status(old)).context.record.result).toBeUndefined();
  });
});

describe('Waiting', () => {
  test('arms a timer on entry, and disarms it on exit', () => {
    expect(fresh().send(status(UP)).asked).toEqual(['armTimer']);
    expect(waiting().send(status(ENDED)).asked).toEqual(['disarmTimer']);
  });

  test('a new status of the same container changes nothing', () => {
    const it = waiting().send(status(UP, NOW + 5_000));
    expect([it.state, it.asked]).toEqual(['Waiting', []]);
  });

  test('another instance of the container begins with its initial delay', () => {
    const it = waiting('readiness', { initialDelaySeconds: 7 });
    it.send(status(seen(running('c2', true, NOW + 5_000)), NOW + 6_000));
    expect([it.state, it.asked]).toEqual(['Waiting', ['disarmTimer', 'armTimer']]);
    expect(it.context.delayMs).toBe(6_000);
    expect(it.context.record.containerId).toBe('c2');
  });

  test('ends when the container has ended', () => {
    const it = waiting().send(status(ENDED));
    expect([it.state, it.context.record.result]).toEqual(['Idle', 'Failure']);
  });

  test('the probe runs when it is due', () => {
    const it = waiting().send(due(UP, NOW + 10_000));
    expect([it.state, it.asked]).toEqual(['Probing', ['disarmTimer', 'startProbe']]);
    expect(it.context.ranAt).toBe(NOW + 10_000);
  });

  test('a probe that is due before its initial delay is over waits on', () => {
    const it = waiting('liveness', { initialDelaySeconds: 30 }).send(due(UP, NOW + 29_999));
    expect([it.state, it.asked, it.context.delayMs]).toEqual(['Waiting', ['disarmTimer', 'armTimer'], 1]);
  });

  test('a probe that is due for a container that has ended does not run', () => {
    expect(waiting().send(due(ENDED, NOW)).state).toBe('Idle');
  });

  test('a probe that is due for a new instance runs for that instance if its delay is over', () => {
    const it = waiting().send(due(NEXT, NOW + 10_000));
    expect([it.state, it.context.record.containerId]).toEqual(['Probing', 'c2']);
  });
});

describe('Probing', () => {
  test.each(['Success', 'Failure', 'Error'] as const)(
    'after %s that does not change the result, the probe waits for its next run',
    (outcome) => {
      const it = probing().send(probed(outcome, NOW + 400));
      expect([it.state, it.asked]).toEqual(['Waiting', ['armTimer']]);
      expect(it.context.delayMs).toBe(9_600);
    },
  );

  test('if a run takes longer than the period, the next run follows at once', () => {
    expect(probing().send(probed('Success', NOW + 12_000)).context.delayMs).toBe(0);
  });

  test('the result changes at its threshold, and the change is reported', () => {
    const it = probing('readiness').send(probed('Success'));
    expect([it.state, it.asked]).toEqual(['Waiting', ['reportResult', 'armTimer']]);
    it.send(due(UP, NOW), probed('Failure'), due(UP, NOW));
    expect(it.context.record.result).toBe('Success');
    it.send(probed('Failure'));
    expect([it.context.record.result, it.asked]).toEqual(['Failure', ['reportResult', 'armTimer']]);
  });

  test('a result that stays the same is not reported again', () => {
    expect(probing('readiness').send(probed('Success'), due(UP, NOW), probed('Success')).asked).toEqual([
      'armTimer',
    ]);
  });

  test('a run that ends in an error does not count', () => {
    const it = probing().send(probed('Failure'), due(UP, NOW), probed('Error'), due(UP, NOW));
    expect(it.send(probed('Failure')).context.record.result).toBe('Failure');
  });

  test.each([
    ['liveness', 'Failure'],
    ['startup', 'Failure'],
    ['startup', 'Success'],
  ] as const)('%s with result %s is on hold until there is another instance', (kind, outcome) => {
    const it = probing(kind, { failureThreshold: 1 }).send(probed(outcome));
    expect([it.state, it.asked]).toEqual(['Idle', ['reportResult']]);
    const container = running('c1', kind !== 'startup');
    expect(it.send(status(seen(container), NOW + 1000)).state).toBe('Idle');
    expect(it.context.record).toMatchObject({ result: outcome, onHold: true });
    expect(it.send(status(seen({ ...container, id: 'c2' }))).state).toBe('Waiting');
    expect(it.context.record.onHold).toBe(false);
  });

  test('a new status of the same container changes nothing during a run', () => {
    const it = probing().send(status(UP, NOW + 10));
    expect([it.state, it.asked]).toEqual(['Probing', []]);
  });

  test.each([
    ['ended', ENDED],
    ['been replaced', NEXT],
  ])('the run is aborted when the container has %s', (_, sighting) => {
    const it = probing().send(status(sighting));
    expect([it.state, it.asked]).toEqual(['Draining', ['abortProbe']]);
  });
});

describe('Draining', () => {
  test('waits until the run is at rest, even if the status changes meanwhile', () => {
    const it = draining().send(status(NEXT));
    expect([it.state, it.asked]).toEqual(['Draining', []]);
  });

  test('then goes on to Waiting if a container runs, else to Idle', () => {
    expect(draining().send(rest(NEXT)).state).toBe('Waiting');
    expect(draining().send(rest(NEXT)).asked).toEqual(['armTimer']);
    expect(draining().send(rest(ENDED)).state).toBe('Idle');
  });
});

describe('Stopped', () => {
  const everywhere: [string, () => Stepper<typeof probeMachine>, string[]][] = [
    ['Idle', () => fresh(), []],
    ['Waiting', () => waiting(), ['disarmTimer']],
    ['Probing', () => probing(), ['abortProbe']],
    ['Draining', () => draining(), []],
  ];

  test.each(everywhere)('from %s: no timer and no run remains', (_, at, asked) => {
    const it = at().send(STOP);
    expect([it.state, it.asked]).toEqual(['Stopped', asked]);
  });

  test.each([
    ['liveness', 'Success'],
    ['startup', 'Success'],
    ['readiness', 'Failure'],
  ] as const)('the last result of %s is %s, so that a pod that ends is not disturbed', (kind, result) => {
    expect(waiting(kind).send(STOP).context.record.result).toBe(result);
  });
});

test('without its effects, the machine throws an error that names their file', () => {
  const { armTimer } = probeMachine.implementations.actions as unknown as Record<string, () => void>;
  expect(armTimer).toThrow('src/agent/actors/probes/probe-worker.ts');
});
