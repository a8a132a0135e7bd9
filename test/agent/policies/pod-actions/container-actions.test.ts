import { describe, expect, test } from '@jest/globals';
import {
  initContainerActions,
  type PodFacts,
  regularContainerActions,
  statusOf,
  toKill,
  unknownState,
} from '../../../../src/agent/policies/pod-actions/container-actions.ts';
import type { ProbeResult } from '../../../../src/agent/policies/probes/probe.ts';
import type { Container, PodSpec } from '../../../../src/types/kubernetes.ts';
import type { RuntimeContainerState } from '../../../../src/types/runtime-pod.ts';
import { podOf } from '../../../support/pod-status-facts.ts';
import { type PartialContainer, runtimePodStatus } from '../../../support/runtime-pod-status.ts';

interface Case {
  readonly initContainers: readonly Container[];
  readonly spec?: Partial<PodSpec>;
  readonly containers?: readonly PartialContainer[];
  /** By container id. */
  readonly liveness?: Readonly<Record<string, ProbeResult>>;
  readonly startup?: Readonly<Record<string, ProbeResult>>;
  readonly changed?: readonly string[];
}

function actions({ initContainers, spec, containers = [], liveness = {}, startup = {}, changed = [] }: Case) {
  const facts: PodFacts = {
    pod: podOf({ initContainers, ...spec }),
    podStatus: runtimePodStatus({ containers }),
    liveness: new Map(Object.entries(liveness)),
    startup: new Map(Object.entries(startup)),
    restartAllContainers: false,
    specChanged: (_container, { id }) => changed.includes(id),
  };
  const { toKill, ...rest } = initContainerActions(facts);
  return { ...rest, kills: toKill.map(({ id, reason, message }) => [id, reason, message]) };
}

const PROBE = { exec: { command: ['true'] } };
const ONE: Container = { name: 'one' };
const TWO: Container = { name: 'two' };
const SIDECAR: Container = { name: 'proxy', restartPolicy: 'Always' };

const NOTHING = { initialized: false, failed: false, toStart: [], kills: [] };
const INITIALIZED = { ...NOTHING, initialized: true };
const FAILED = { ...NOTHING, failed: true };
const starts = (...toStart: number[]) => ({ ...NOTHING, toStart });

/** An instance with the id `NAME-1`. */
function instance(name: string, state: RuntimeContainerState, exitCode = 0): PartialContainer {
  return { id: `${name}-1`, name, state, exitCode };
}

test('a pod without init containers is initialized', () => {
  expect(actions({ initContainers: [] })).toEqual(INITIALIZED);
});

describe('init containers', () => {
  const both = [ONE, TWO];

  test('begin with the first', () => {
    expect(actions({ initContainers: both })).toEqual(starts(0));
  });

  test('wait for one another', () => {
    expect(actions({ initContainers: both, containers: [instance('one', 'running')] })).toEqual(NOTHING);
    expect(actions({ initContainers: both, containers: [instance('one', 'exited')] })).toEqual(starts(1));
  });

  test('are done when the last has succeeded', () => {
    const containers = [instance('one', 'exited'), instance('two', 'exited')];
    expect(actions({ initContainers: both, containers })).toEqual(INITIALIZED);
  });

  test('that were forgotten count as done when a later one has a status', () => {
    expect(actions({ initContainers: both, containers: [instance('two', 'exited')] })).toEqual(INITIALIZED);
  });

  test('are done when a regular container runs, even if all were forgotten', () => {
    expect(actions({ initContainers: both, containers: [instance('app', 'running')] })).toEqual(INITIALIZED);
  });

  test('are not done when a regular container has ended, perhaps in an earlier sandbox', () => {
    expect(actions({ initContainers: both, containers: [instance('app', 'exited')] })).toEqual(starts(0));
  });

  test('that were created and not started are started', () => {
    expect(actions({ initContainers: both, containers: [instance('two', 'created')] })).toEqual(starts(1));
  });

  test.each([
    ['Always', starts(0)],
    ['OnFailure', starts(0)],
    ['Never', FAILED],
  ])('that fail, under restartPolicy %s: %j', (restartPolicy, want) => {
    const containers = [instance('one', 'exited', 1)];
    expect(actions({ initContainers: both, spec: { restartPolicy }, containers })).toEqual(want);
  });

  test('in an unknown state are killed and started again, unless the policy is Never', () => {
    const containers = [instance('one', 'unknown')];
    expect(actions({ initContainers: both, containers })).toEqual({
      ...starts(0),
      kills: [['one-1', 'Unknown', 'Init container is in "unknown" state, try killing it before restart']],
    });
    expect(actions({ initContainers: both, spec: { restartPolicy: 'Never' }, containers })).toEqual(FAILED);
  });
});

describe('a sidecar', () => {
  const probed = { ...SIDECAR, startupProbe: PROBE };

  test('lets the next one start once it runs', () => {
    const containers = [instance('proxy', 'running')];
    expect(actions({ initContainers: [SIDECAR, ONE], containers })).toEqual(starts(1));
    expect(actions({ initContainers: [SIDECAR], containers })).toEqual(INITIALIZED);
  });

  test('with a startup probe lets the next one start once that succeeds', () => {
    const containers = [instance('proxy', 'running')];
    expect(actions({ initContainers: [probed, ONE], containers })).toEqual(NOTHING);
    const startup = { 'proxy-1': 'Success' } as const;
    expect(actions({ initContainers: [probed, ONE], containers, startup })).toEqual(starts(1));
  });

  test('that ends is started again while later init containers run', () => {
    const containers = [instance('proxy', 'exited'), instance('one', 'running')];
    expect(actions({ initContainers: [SIDECAR, ONE], containers })).toEqual(starts(0));
  });

  test('that ends is started again in a pod that is initialized', () => {
    const containers = [instance('proxy', 'exited', 1), instance('app', 'running')];
    const spec = { restartPolicy: 'Never' };
    expect(actions({ initContainers: [SIDECAR], spec, containers })).toEqual({
      ...INITIALIZED,
      toStart: [0],
    });
  });

  test('is replaced when its startup probe fails', () => {
    const containers = [instance('proxy', 'running')];
    expect(actions({ initContainers: [probed, ONE], containers, startup: { 'proxy-1': 'Failure' } })).toEqual(
      {
        ...starts(0),
        kills: [['proxy-1', 'StartupProbe', 'Init container proxy failed startup probe']],
      },
    );
  });

  test('is replaced when its liveness probe fails, but not before it has started', () => {
    const initContainers = [{ ...probed, livenessProbe: PROBE }, ONE];
    const containers = [instance('proxy', 'running'), instance('one', 'running')];
    const liveness = { 'proxy-1': 'Failure' } as const;
    expect(actions({ initContainers, containers, liveness })).toEqual(NOTHING);
    expect(
      actions({ initContainers, containers, liveness, startup: { 'proxy-1': 'Success' } }).kills,
    ).toEqual([['proxy-1', 'LivenessProbe', 'Init container proxy failed liveness probe']]);
  });

  test('is replaced when its spec has changed', () => {
    const containers = [instance('proxy', 'running'), instance('one', 'running')];
    expect(actions({ initContainers: [SIDECAR, ONE], containers, changed: ['proxy-1'] })).toEqual({
      ...starts(0),
      kills: [['proxy-1', '', 'Init container proxy definition changed']],
    });
  });

  test('is not kept when an init container has failed for good', () => {
    const containers = [instance('proxy', 'exited'), instance('one', 'exited', 1)];
    const spec = { restartPolicy: 'Never' };
    expect(actions({ initContainers: [SIDECAR, ONE], spec, containers })).toEqual(FAILED);
  });
});

const APP = { name: 'app', image: 'app:1' };

const podStatus = runtimePodStatus({
  containers: [
    { id: 'a2', name: 'app', state: 'unknown' },
    { id: 'a1', name: 'app', state: 'exited' },
  ],
});

const FACTS: PodFacts = {
  pod: podOf(),
  podStatus,
  liveness: new Map(),
  startup: new Map(),
  restartAllContainers: false,
  specChanged: () => false,
};

test("a container's status is that of its newest instance", () => {
  expect(statusOf(FACTS, APP)?.id).toBe('a2');
  expect(statusOf(FACTS, { name: 'other' })).toBeUndefined();
});

test("an instance in an unknown state is killed with the kubelet's words", () => {
  expect(toKill(APP, podStatus.containers[0]!, unknownState('Container'))).toEqual({
    id: 'a2',
    name: 'app',
    container: APP,
    reason: 'Unknown',
    message: 'Container is in "unknown" state, try killing it before restart',
  });
});

interface RegularCase {
  readonly spec?: Partial<PodSpec>;
  readonly containers?: readonly PartialContainer[];
  readonly liveness?: ProbeResult;
  readonly startup?: ProbeResult;
  readonly specChanged?: boolean;
}

/** The probe results are those of the instance `a1`. */
function regularActions({ spec = {}, containers = [], liveness, startup, specChanged = false }: RegularCase) {
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

const NO_ACTIONS = { finished: false, toStart: [], kills: [] };

const RUNNING = [{ id: 'a1', name: 'app', state: 'running' } as const];

const ended = (exitCode: number) => [{ id: 'a1', name: 'app', state: 'exited', exitCode } as const];

describe('a regular container that runs', () => {
  test.each([undefined, 'Success', 'UNKNOWN'] as const)('is kept while its probes say %s', (result) => {
    expect(regularActions({ containers: RUNNING, liveness: result, startup: result })).toEqual(NO_ACTIONS);
  });

  test('is replaced when its spec has changed, whatever the restart policy', () => {
    expect(
      regularActions({
        spec: { restartPolicy: 'Never' },
        containers: RUNNING,
        specChanged: true,
      }),
    ).toEqual({
      finished: false,
      toStart: [0],
      kills: [['a1', '', 'Container app definition changed, will be restarted']],
    });
  });

  test('is killed when its liveness probe fails, and started again if the policy says so', () => {
    const message = 'Container app failed liveness probe';
    expect(regularActions({ containers: RUNNING, liveness: 'Failure' })).toEqual({
      finished: false,
      toStart: [0],
      kills: [['a1', 'LivenessProbe', `${message}, will be restarted`]],
    });
    expect(
      regularActions({
        spec: { restartPolicy: 'Never' },
        containers: RUNNING,
        liveness: 'Failure',
      }),
    ).toEqual({
      finished: true,
      toStart: [],
      kills: [['a1', 'LivenessProbe', message]],
    });
  });

  test('is killed when its startup probe fails', () => {
    expect(regularActions({ containers: RUNNING, startup: 'Failure' }).kills).toEqual([
      ['a1', 'StartupProbe', 'Container app failed startup probe, will be restarted'],
    ]);
  });

  test('is killed for the first of these: a changed spec, its liveness probe, its startup probe', () => {
    const failing = { containers: RUNNING, liveness: 'Failure', startup: 'Failure' } as const;
    expect(regularActions({ ...failing, specChanged: true }).kills[0]?.[1]).toBe('');
    expect(regularActions(failing).kills[0]?.[1]).toBe('LivenessProbe');
  });
});

describe('a regular container that does not run', () => {
  test('is started when it has never run', () => {
    expect(regularActions({})).toEqual({ finished: false, toStart: [0], kills: [] });
  });

  test.each([
    ['Always', 0, [0]],
    ['OnFailure', 0, []],
    ['OnFailure', 1, [0]],
    ['Never', 1, []],
  ])('under restartPolicy %s after an end with %d starts %j', (restartPolicy, exitCode, toStart) => {
    expect(regularActions({ spec: { restartPolicy }, containers: ended(exitCode) })).toEqual({
      finished: toStart.length === 0,
      toStart,
      kills: [],
    });
  });

  test('is killed before it is started again when its state is unknown', () => {
    expect(regularActions({ containers: [{ id: 'a1', name: 'app', state: 'unknown' }] })).toEqual({
      finished: false,
      toStart: [0],
      kills: [['a1', 'Unknown', 'Container is in "unknown" state, try killing it before restart']],
    });
  });
});

test('several containers are started in the order of the spec, by their indices', () => {
  const spec = { containers: [{ name: 'a' }, { name: 'app' }, { name: 'c' }] };
  expect(regularActions({ spec, containers: RUNNING }).toStart).toEqual([0, 2]);
});

test('a pod is not finished while one of its containers runs', () => {
  const spec = { containers: [{ name: 'app' }, { name: 'web' }], restartPolicy: 'Never' };
  const webEnded = { id: 'w1', name: 'web', state: 'exited', exitCode: 1 } as const;
  expect(regularActions({ spec, containers: [...RUNNING, webEnded] })).toEqual(NO_ACTIONS);
});
