import { describe, expect, test } from '@jest/globals';
import type { PodFacts, ProbeResult } from '../../../src/policies/sync/pod-facts.ts';
import { regularContainerActions } from '../../../src/policies/sync/regular-containers.ts';
import type { PodSpec } from '../../../src/types/kubernetes.ts';
import { podOf } from '../../support/pod-status-facts.ts';
import { type PartialContainer, runtimePodStatus } from '../../support/runtime-pod-status.ts';

interface Case {
  readonly spec?: Partial<PodSpec>;
  readonly containers?: readonly PartialContainer[];
  readonly liveness?: ProbeResult;
  readonly startup?: ProbeResult;
  readonly specChanged?: boolean;
}

/** The probe results are those of the instance `a1`. */
function actions({ spec = {}, containers = [], liveness, startup, specChanged = false }: Case) {
  const facts: PodFacts = {
    pod: podOf(spec),
    podStatus: runtimePodStatus({ containers }),
    liveness: new Map(liveness && [['a1', liveness]]),
    startup: new Map(startup && [['a1', startup]]),
    restartAllContainers: false,
    specChanged: () => specChanged,
  };
  const { finished, toStart, toKill } = regularContainerActions(facts);
  return { finished, toStart, kills: toKill.map(({ id, reason, message }) => [id, reason, message]) };
}

const NOTHING = { finished: false, toStart: [], kills: [] };
const RUNNING = [{ id: 'a1', name: 'app', state: 'running' } as const];
const ended = (exitCode: number) => [{ id: 'a1', name: 'app', state: 'exited', exitCode } as const];

describe('a regular container that runs', () => {
  test.each([undefined, 'Success', 'UNKNOWN'] as const)('is kept while its probes say %s', (result) => {
    expect(actions({ containers: RUNNING, liveness: result, startup: result })).toEqual(NOTHING);
  });

  test('is replaced when its spec has changed, whatever the restart policy', () => {
    expect(actions({ spec: { restartPolicy: 'Never' }, containers: RUNNING, specChanged: true })).toEqual({
      finished: false,
      toStart: [0],
      kills: [['a1', '', 'Container app definition changed, will be restarted']],
    });
  });

  test('is killed when its liveness probe fails, and started again if the policy says so', () => {
    const message = 'Container app failed liveness probe';
    expect(actions({ containers: RUNNING, liveness: 'Failure' })).toEqual({
      finished: false,
      toStart: [0],
      kills: [['a1', 'LivenessProbe', `${message}, will be restarted`]],
    });
    expect(actions({ spec: { restartPolicy: 'Never' }, containers: RUNNING, liveness: 'Failure' })).toEqual({
      finished: true,
      toStart: [],
      kills: [['a1', 'LivenessProbe', message]],
    });
  });

  test('is killed when its startup probe fails', () => {
    expect(actions({ containers: RUNNING, startup: 'Failure' }).kills).toEqual([
      ['a1', 'StartupProbe', 'Container app failed startup probe, will be restarted'],
    ]);
  });

  test('is killed for the first of these: a changed spec, its liveness probe, its startup probe', () => {
    const failing = { containers: RUNNING, liveness: 'Failure', startup: 'Failure' } as const;
    expect(actions({ ...failing, specChanged: true }).kills[0]?.[1]).toBe('');
    expect(actions(failing).kills[0]?.[1]).toBe('LivenessProbe');
  });
});

describe('a regular container that does not run', () => {
  test('is started when it has never run', () => {
    expect(actions({})).toEqual({ finished: false, toStart: [0], kills: [] });
  });

  test.each([
    ['Always', 0, [0]],
    ['OnFailure', 0, []],
    ['OnFailure', 1, [0]],
    ['Never', 1, []],
  ])('under restartPolicy %s after an end with %d starts %j', (restartPolicy, exitCode, toStart) => {
    expect(actions({ spec: { restartPolicy }, containers: ended(exitCode) })).toEqual({
      finished: toStart.length === 0,
      toStart,
      kills: [],
    });
  });

  test('is killed before it is started again when its state is unknown', () => {
    expect(actions({ containers: [{ id: 'a1', name: 'app', state: 'unknown' }] })).toEqual({
      finished: false,
      toStart: [0],
      kills: [['a1', 'Unknown', 'Container is in "unknown" state, try killing it before restart']],
    });
  });
});

test('several containers are started in the order of the spec, by their indices', () => {
  const spec = { containers: [{ name: 'a' }, { name: 'app' }, { name: 'c' }] };
  expect(actions({ spec, containers: RUNNING }).toStart).toEqual([0, 2]);
});

test('a pod is not finished while one of its containers runs', () => {
  const spec = { containers: [{ name: 'app' }, { name: 'web' }], restartPolicy: 'Never' };
  const webEnded = { id: 'w1', name: 'web', state: 'exited', exitCode: 1 } as const;
  expect(actions({ spec, containers: [...RUNNING, webEnded] })).toEqual(NOTHING);
});
