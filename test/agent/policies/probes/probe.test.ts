import { describe, expect, test } from '@jest/globals';
import {
  judge,
  decideProbe,
  NEW_PROBE_RECORD,
  periodMs,
  type Probe,
  type ProbeKind,
  type ProbeOutcome,
  type ProbeRecord,
  probeTargets,
  type ProbeTarget,
  quietRecord,
  type SeenContainer,
  startedBefore,
} from '../../../../src/agent/policies/probes/probe.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { podOf } from '../../../support/pod-status-facts.ts';
import { testVectors } from '../../../support/test-vectors.ts';

testVectors('probes');

const PROBE = { exec: { command: ['true'] } };
const AGENT_STARTED_AT = 1_000_000;

function target(kind: ProbeKind, probe: Partial<Probe> = {}, spec: Partial<Pod['spec']> = {}): ProbeTarget {
  const pod = podOf(spec);
  return { kind, pod, container: { name: 'app', [`${kind}Probe`]: { ...PROBE, ...probe } } };
}

/** Started two seconds after the agent. */
const running = (started: boolean): SeenContainer & { readonly state: 'running' } => ({
  id: 'a1',
  started,
  state: 'running',
  startedAt: AGENT_STARTED_AT + 2000,
});

/** What the worker of a new record makes of a pod that runs with this container. */
const decide = (of: ProbeTarget, container: SeenContainer | undefined, record = NEW_PROBE_RECORD) =>
  decideProbe(of, record, { phase: 'Running', container }, AGENT_STARTED_AT);

const afterOutcomes = (of: ProbeTarget, ...outcomes: ProbeOutcome[]): ProbeRecord =>
  outcomes.reduce((record, outcome) => judge(of, record, outcome), NEW_PROBE_RECORD);

test('a pod has the probes of its regular containers and its sidecars, the startup probe first', () => {
  const pod = podOf({
    containers: [{ name: 'app', livenessProbe: PROBE, startupProbe: PROBE }],
    initContainers: [
      { name: 'setup', livenessProbe: PROBE },
      { name: 'proxy', restartPolicy: 'Always', readinessProbe: PROBE },
    ],
  });
  expect(probeTargets(pod).map(({ kind, container }) => [container.name, kind])).toEqual([
    ['app', 'startup'],
    ['app', 'liveness'],
    ['proxy', 'readiness'],
  ]);
});

test('the period of a probe is 10 s where none is given', () => {
  expect([periodMs({}), periodMs({ periodSeconds: 0 }), periodMs({ periodSeconds: 3 })]).toEqual([
    10_000, 10_000, 3_000,
  ]);
});

describe('which container is probed', () => {
  test('none while the pod has no status, or no container of that name', () => {
    expect(decideProbe(target('liveness'), NEW_PROBE_RECORD, undefined, 0).step.kind).toBe('idle');
    expect(decide(target('liveness'), undefined).step.kind).toBe('idle');
  });

  test.each(['Succeeded', 'Failed'])('none any more once the phase is %s', (phase) => {
    expect(
      decideProbe(target('liveness'), NEW_PROBE_RECORD, { phase, container: undefined }, 0).step.kind,
    ).toBe('over');
  });

  test('liveness and readiness: one that has started; startup: one that has not', () => {
    const steps = (['liveness', 'readiness', 'startup'] as const).map((kind) =>
      [true, false].map((started) => decide(target(kind), running(started)).step.kind),
    );
    expect(steps).toEqual([
      ['probe', 'idle'],
      ['probe', 'idle'],
      ['idle', 'probe'],
    ]);
  });

  test('not before initialDelaySeconds have passed since it was started', () => {
    const { startedAt } = running(true);
    expect(decide(target('liveness', { initialDelaySeconds: 5 }), running(true)).step).toEqual({
      kind: 'probe',
      startedAt,
      notBefore: startedAt + 5000,
    });
  });

  test('one that waits is not ready, and may be probed later', () => {
    const { record, step } = decide(target('readiness'), { id: 'a1', started: false, state: 'waiting' });
    expect([record.result, step.kind]).toEqual(['Failure', 'idle']);
  });

  test.each([
    ['Always', 'idle'],
    ['Never', 'over'],
  ])('one that has ended under restartPolicy %s: %s', (restartPolicy, kind) => {
    const ended = { id: 'a1', started: false, state: 'terminated', exitCode: 1 } as const;
    const { record, step } = decide(target('readiness', {}, { restartPolicy }), ended);
    expect([record.result, step.kind]).toEqual(['Failure', kind]);
  });
});

describe('what holds before the first outcome', () => {
  test.each([
    ['liveness', 'Success'],
    ['readiness', 'Failure'],
    ['startup', 'UNKNOWN'],
  ] as const)('of a %s probe: %s', (kind, want) => {
    expect(decide(target(kind), running(true)).record.result).toBe(want);
  });

  test('nothing, for a container that ran more than 10 s before the agent started', () => {
    const at = (startedAt: number) =>
      decide(target('readiness'), { ...running(true), startedAt }).record.result;
    expect(at(AGENT_STARTED_AT - 10_001)).toBeUndefined();
    expect(at(AGENT_STARTED_AT - 10_000)).toBe('Failure');
  });

  test('is assumed anew for another instance, which ends the hold', () => {
    const held = { ...NEW_PROBE_RECORD, containerId: 'a0', result: 'Failure', onHold: true } as const;
    expect(decide(target('liveness'), running(true), held).record).toMatchObject({
      containerId: 'a1',
      result: 'Success',
      onHold: false,
    });
    expect(decide(target('liveness'), running(true), { ...held, containerId: 'a1' }).step.kind).toBe('idle');
  });
});

describe('a pod that is being deleted', () => {
  const metadata = { name: 'web', namespace: 'shop', uid: 'u-1', deletionTimestamp: '2030-01-01T00:00:00Z' };
  const deleted = (kind: ProbeKind) => ({ ...target(kind), pod: podOf({}, { metadata }) });

  test('is probed for readiness alone', () => {
    expect(decide(deleted('readiness'), running(true)).step.kind).toBe('probe');
    expect(decide(deleted('liveness'), running(true)).step.kind).toBe('over');
    expect(decide(deleted('startup'), running(false)).step.kind).toBe('over');
  });

  test('has no failed liveness or startup probe', () => {
    const failed = { ...NEW_PROBE_RECORD, result: 'Failure' } as const;
    const results = (['liveness', 'startup', 'readiness'] as const).map(
      (kind) => quietRecord(deleted(kind), failed).result,
    );
    expect(results).toEqual(['Success', 'Success', 'Failure']);
  });
});

describe('an outcome', () => {
  const liveness = target('liveness', { failureThreshold: 3, successThreshold: 1 });
  const readiness = target('readiness', { failureThreshold: 1, successThreshold: 2 });

  test('decides once it has come as often in a row as its threshold says', () => {
    expect(afterOutcomes(liveness, 'Failure', 'Failure').result).toBeUndefined();
    expect(afterOutcomes(liveness, 'Failure', 'Failure', 'Failure').result).toBe('Failure');
    expect(afterOutcomes(readiness, 'Success').result).toBeUndefined();
    expect(afterOutcomes(readiness, 'Success', 'Success').result).toBe('Success');
  });

  test('of the other kind begins the count anew', () => {
    const mixed = afterOutcomes(liveness, 'Failure', 'Failure', 'Success', 'Failure', 'Failure');
    expect([mixed.result, mixed.resultRun]).toEqual(['Success', 2]);
  });

  test('that is an error of the probe itself changes nothing', () => {
    expect(afterOutcomes(liveness, 'Failure', 'Error', 'Failure').resultRun).toBe(2);
  });

  test('holds until another instance comes: a failed liveness probe, and any result of a startup probe', () => {
    const once = { failureThreshold: 1, successThreshold: 1 };
    const holds = (kind: ProbeKind, outcome: ProbeOutcome) =>
      afterOutcomes(target(kind, once), outcome).onHold;
    expect([holds('liveness', 'Failure'), holds('startup', 'Failure'), holds('startup', 'Success')]).toEqual([
      true,
      true,
      true,
    ]);
    expect([holds('liveness', 'Success'), holds('readiness', 'Failure')]).toEqual([false, false]);
  });
});

describe('a container that an agent finds running', () => {
  const startup = target('startup', { initialDelaySeconds: 5, periodSeconds: 2, failureThreshold: 3 });
  const since = (startedAt: number): SeenContainer => ({ ...running(false), startedAt });

  test('has started up when it ran before for longer than its startup probe allows', () => {
    const limitMs = 5000 + (3 + 1) * 2000;
    expect(startedBefore(startup, since(AGENT_STARTED_AT - limitMs - 1), AGENT_STARTED_AT)).toBe(true);
    expect(startedBefore(startup, since(AGENT_STARTED_AT - limitMs), AGENT_STARTED_AT)).toBe(false);
  });

  test('is not judged by other probes, or while it does not run', () => {
    expect(startedBefore(target('liveness'), since(0), AGENT_STARTED_AT)).toBe(false);
    expect(startedBefore(startup, { id: 'a1', started: false, state: 'waiting' }, AGENT_STARTED_AT)).toBe(
      false,
    );
    expect(startedBefore(startup, undefined, AGENT_STARTED_AT)).toBe(false);
  });
});
