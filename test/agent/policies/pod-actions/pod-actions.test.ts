import { describe, expect, test } from '@jest/globals';
import {
  computePodActions,
  type PodActions,
} from '../../../../src/agent/policies/pod-actions/pod-actions.ts';
import type { PodFacts } from '../../../../src/agent/policies/pod-actions/container-actions.ts';
import type { ProbeResult } from '../../../../src/agent/policies/probes/probe.ts';
import type { Container, PodSpec } from '../../../../src/types/kubernetes.ts';
import type { RuntimeContainerState } from '../../../../src/types/runtime-pod.ts';
import {
  type PartialContainer,
  type PartialPodStatus,
  type PartialSandbox,
  runtimePodStatus,
} from '../../../support/runtime-pod-status.ts';
import { noActions } from '../../../support/no-actions.ts';
import { testVectors } from '../../../support/test-vectors.ts';

testVectors('podActions');

type Results = Record<string, ProbeResult>;

interface Situation {
  readonly spec?: Partial<PodSpec>;
  /** The default is one ready sandbox of attempt 0. */
  readonly sandboxes?: readonly PartialSandbox[];
  readonly containers?: NonNullable<PartialPodStatus['containers']>;
  readonly liveness?: Results;
  readonly startup?: Results;
  readonly restartAllContainers?: boolean;
  readonly deleted?: boolean;
  /** Ids of containers that were created from an older spec. */
  readonly changed?: readonly string[];
}

const SANDBOX = { id: 'sandbox', ip: '10.0.0.1' };
const WEB: Container = { name: 'web' };
const DB: Container = { name: 'db' };
const SETUP: Container = { name: 'setup' };
const MIGRATE: Container = { name: 'migrate' };
const PROXY: Container = { name: 'proxy', restartPolicy: 'Always' };
const AGENT: Container = { name: 'agent', restartPolicy: 'Always' };

const NOTHING = noActions('sandbox');

/** An instance. Its id is its name unless another one is given. */
function instance(name: string, state: RuntimeContainerState, rest: Partial<PartialContainer> = {}) {
  return { id: name, name, state, ...rest };
}

function running(...names: string[]) {
  return names.map((name) => instance(name, 'running'));
}

function exited(name: string, exitCode = 0) {
  return instance(name, 'exited', { exitCode });
}

function factsOf(situation: Situation): PodFacts {
  const { spec, sandboxes = [SANDBOX], containers = [], liveness = {}, startup = {} } = situation;
  const deletion = situation.deleted ? { deletionTimestamp: '2030-01-01T00:00:00Z' } : {};
  return {
    pod: {
      metadata: { name: 'pod', namespace: 'ns', uid: 'uid', ...deletion },
      spec: { containers: [WEB], restartPolicy: 'Always', ...spec },
    },
    podStatus: runtimePodStatus({ sandboxes, containers }),
    liveness: new Map(Object.entries(liveness)),
    startup: new Map(Object.entries(startup)),
    restartAllContainers: situation.restartAllContainers ?? false,
    specChanged: (_container, { id }) => situation.changed?.includes(id) ?? false,
  };
}

function actionsFor(situation: Situation): PodActions {
  return computePodActions(factsOf(situation));
}

describe('the sandbox', () => {
  test('a pod without a sandbox gets its first one, attempt 0, and all regular containers', () => {
    expect(actionsFor({ spec: { containers: [WEB, DB] }, sandboxes: [] })).toEqual({
      ...NOTHING,
      killPod: true,
      createSandbox: true,
      sandboxId: '',
      containersToStart: [0, 1],
    });
  });

  test('a sandbox that has ended is replaced by the next attempt, and all containers are killed', () => {
    const sandboxes = [{ ...SANDBOX, ready: false, attempt: 2 }];
    expect(actionsFor({ sandboxes, containers: running('web') })).toEqual({
      ...NOTHING,
      killPod: true,
      createSandbox: true,
      attempt: 3,
      containersToStart: [0],
    });
  });

  test('two ready sandboxes are both replaced', () => {
    const sandboxes = [{ ...SANDBOX, attempt: 1 }, { id: 'older' }];
    expect(actionsFor({ sandboxes })).toMatchObject({ killPod: true, createSandbox: true, attempt: 2 });
  });

  test('an older ready sandbox is not used when the newest is not ready', () => {
    const sandboxes = [{ ...SANDBOX, ready: false, attempt: 1 }, { id: 'older' }];
    expect(actionsFor({ sandboxes })).toMatchObject({
      createSandbox: true,
      sandboxId: 'sandbox',
      attempt: 2,
    });
  });

  test('a sandbox of another network is replaced, and its id is not given', () => {
    const sandboxes = [{ ...SANDBOX, networkMode: 'NODE' }];
    expect(actionsFor({ sandboxes })).toMatchObject({ createSandbox: true, sandboxId: '', attempt: 1 });
    expect(actionsFor({ spec: { hostNetwork: true }, sandboxes })).toMatchObject({ createSandbox: false });
  });

  test('a sandbox without an address is replaced, except on the host network or if the runtime reports no addresses', () => {
    const without = [{ ...SANDBOX, ip: '' }];
    expect(actionsFor({ sandboxes: without }).createSandbox).toBe(true);
    expect(actionsFor({ sandboxes: [{ ...SANDBOX, ip: null }] }).createSandbox).toBe(false);
    const onHost = [{ ...without[0]!, networkMode: 'NODE' }];
    expect(actionsFor({ spec: { hostNetwork: true }, sandboxes: onHost }).createSandbox).toBe(false);
  });

  test('in a new sandbox the pod starts from its first init container', () => {
    const spec = { initContainers: [PROXY, SETUP] };
    const containers = [exited('setup'), ...running('proxy', 'web')];
    const actions = actionsFor({ spec, containers, sandboxes: [{ ...SANDBOX, ready: false }] });
    expect(actions).toMatchObject({ createSandbox: true, initContainersToStart: [0], containersToStart: [] });
  });

  test('a pod that has run with restartPolicy Never gets no new sandbox and is killed', () => {
    const actions = actionsFor({
      spec: { restartPolicy: 'Never' },
      sandboxes: [{ ...SANDBOX, ready: false }],
      containers: [exited('web')],
    });
    expect(actions).toEqual({ ...NOTHING, killPod: true, attempt: 1 });
  });

  test('with restartPolicy Never too, a sandbox is created again as long as no container has been created', () => {
    const sandboxes = [{ ...SANDBOX, ready: false }];
    const actions = actionsFor({ spec: { restartPolicy: 'Never' }, sandboxes });
    expect(actions).toMatchObject({ createSandbox: true, attempt: 1, containersToStart: [0] });
  });

  test('with OnFailure only containers that have not succeeded start in a new sandbox; if all have, there is none', () => {
    const spec = { restartPolicy: 'OnFailure', containers: [WEB, DB] };
    const sandboxes = [{ ...SANDBOX, ready: false }];
    const half = actionsFor({ spec, sandboxes, containers: [exited('web'), exited('db', 1)] });
    expect(half).toMatchObject({ createSandbox: true, containersToStart: [1] });
    const all = actionsFor({ spec, sandboxes, containers: [exited('web'), exited('db')] });
    expect(all).toEqual({ ...NOTHING, killPod: true, attempt: 1 });
  });
});

describe('regular containers', () => {
  test('a running container without a fault is kept', () => {
    expect(actionsFor({ containers: running('web') })).toEqual(NOTHING);
  });

  test('a container without an instance is started beside running ones', () => {
    const actions = actionsFor({ spec: { containers: [WEB, DB] }, containers: running('web') });
    expect(actions).toEqual({ ...NOTHING, containersToStart: [1] });
  });

  test('a container that failed is started again if its policy says so', () => {
    const containers = [exited('web', 1), ...running('db')];
    const forPolicy = (restartPolicy: string) =>
      actionsFor({ spec: { restartPolicy, containers: [WEB, DB] }, containers }).containersToStart;
    expect(forPolicy('Always')).toEqual([0]);
    expect(forPolicy('OnFailure')).toEqual([0]);
    expect(forPolicy('Never')).toEqual([]);
  });

  test('a container in an unknown state is killed before another instance is started', () => {
    const [kill] = actionsFor({ containers: [instance('web', 'unknown')] }).containersToKill;
    expect(kill).toEqual({
      id: 'web',
      name: 'web',
      container: WEB,
      reason: 'Unknown',
      message: 'Container is in "unknown" state, try killing it before restart',
    });
  });

  test('a container whose spec has changed is killed and started again, even with Never', () => {
    const actions = actionsFor({
      spec: { restartPolicy: 'Never' },
      containers: running('web'),
      changed: ['web'],
    });
    expect(actions.containersToStart).toEqual([0]);
    expect(actions.containersToKill).toMatchObject([
      { reason: '', message: 'Container web definition changed, will be restarted' },
    ]);
  });

  test.each([
    ['LivenessProbe', 'liveness'],
    ['StartupProbe', 'startup'],
  ])('a container whose %s failed is killed with that reason, and started again', (reason, probe) => {
    const actions = actionsFor({ containers: running('web'), [probe]: { web: 'Failure' } });
    const message = `Container web failed ${probe} probe, will be restarted`;
    expect(actions).toMatchObject({ containersToStart: [0], containersToKill: [{ reason, message }] });
  });

  test('with Never a container whose probe failed is not started again, and the pod ends if it has no other', () => {
    const actions = actionsFor({
      spec: { restartPolicy: 'Never' },
      containers: running('web'),
      liveness: { web: 'Failure' },
    });
    expect(actions).toMatchObject({
      killPod: true,
      containersToStart: [],
      containersToKill: [{ message: 'Container web failed liveness probe' }],
    });
  });

  test('a probe that is not decided kills no container', () => {
    const undecided: Results = { web: 'UNKNOWN' };
    expect(actionsFor({ containers: running('web'), liveness: undecided, startup: undecided })).toEqual(
      NOTHING,
    );
  });

  test('when all have ended and none starts again, the pod is killed, sidecars included', () => {
    const actions = actionsFor({
      spec: { restartPolicy: 'Never', initContainers: [{ ...PROXY, livenessProbe: {} }] },
      containers: [exited('web'), ...running('proxy')],
      liveness: { proxy: 'Failure' },
    });
    expect(actions).toMatchObject({ killPod: true, createSandbox: false, initContainersToStart: [] });
  });

  test('a pod that is being deleted starts no container, and is killed when none runs', () => {
    expect(actionsFor({ deleted: true, containers: [exited('web', 1)] })).toEqual({
      ...NOTHING,
      killPod: true,
    });
  });
});

describe('init containers', () => {
  const spec = { initContainers: [SETUP, MIGRATE] };

  test('they start one after the other, and regular containers after the last', () => {
    const startsAfter = (containers: Situation['containers']) => {
      const { initContainersToStart, containersToStart } = actionsFor({ spec, containers: containers ?? [] });
      return { init: initContainersToStart, regular: containersToStart };
    };
    expect(startsAfter([])).toEqual({ init: [0], regular: [] });
    expect(startsAfter(running('setup'))).toEqual({ init: [], regular: [] });
    expect(startsAfter([exited('setup')])).toEqual({ init: [1], regular: [] });
    expect(startsAfter([exited('setup'), instance('migrate', 'running')])).toEqual({ init: [], regular: [] });
    expect(startsAfter([exited('setup'), exited('migrate')])).toEqual({ init: [], regular: [0] });
  });

  test('an init container that was created and not started is started', () => {
    expect(actionsFor({ spec, containers: [instance('setup', 'created')] }).initContainersToStart).toEqual([
      0,
    ]);
  });

  test('init containers that the runtime has forgotten are not run again', () => {
    expect(actionsFor({ spec, containers: [exited('migrate')] })).toEqual({
      ...NOTHING,
      containersToStart: [0],
    });
    expect(actionsFor({ spec, containers: running('web') })).toEqual(NOTHING);
  });

  test('regular containers that have exited do not count, because they may be of an earlier sandbox', () => {
    const actions = actionsFor({ spec, containers: [exited('web', 137)] });
    expect(actions).toMatchObject({ initContainersToStart: [0], containersToStart: [] });
  });

  test('an init container that failed is run again; with Never the pod fails', () => {
    const containers = [exited('setup', 1)];
    expect(actionsFor({ spec, containers })).toEqual({ ...NOTHING, initContainersToStart: [0] });
    const never = actionsFor({ spec: { ...spec, restartPolicy: 'Never' }, containers });
    expect(never).toEqual({ ...NOTHING, killPod: true });
  });

  test('the own restart policy of a failed init container counts', () => {
    const containers = [exited('setup', 1)];
    const initContainers = [{ ...SETUP, restartPolicy: 'OnFailure' }, MIGRATE];
    const actions = actionsFor({ spec: { initContainers, restartPolicy: 'Never' }, containers });
    expect(actions).toEqual({ ...NOTHING, initContainersToStart: [0] });
  });

  test('an init container in an unknown state is killed and run again; with Never the pod fails', () => {
    const containers = [instance('setup', 'unknown')];
    const again = actionsFor({ spec, containers });
    expect(again).toMatchObject({ initContainersToStart: [0], containersToKill: [{ reason: 'Unknown' }] });
    const never = actionsFor({ spec: { ...spec, restartPolicy: 'Never' }, containers });
    expect(never).toEqual({ ...NOTHING, killPod: true });
  });
});

describe('sidecars', () => {
  const spec = { initContainers: [PROXY, AGENT, SETUP] };

  test('the next init container starts when the sidecar runs', () => {
    expect(actionsFor({ spec, containers: running('proxy') }).initContainersToStart).toEqual([1]);
    expect(actionsFor({ spec, containers: running('proxy', 'agent') }).initContainersToStart).toEqual([2]);
  });

  test('the regular containers start when the last sidecar runs', () => {
    const actions = actionsFor({ spec: { initContainers: [PROXY] }, containers: running('proxy') });
    expect(actions).toMatchObject({ initContainersToStart: [], containersToStart: [0] });
  });

  test('the next starts only after the startup probe of a sidecar has succeeded', () => {
    const initContainers = [{ ...PROXY, startupProbe: {} }, SETUP];
    const startsWith = (startup: Results) =>
      actionsFor({ spec: { initContainers }, containers: running('proxy'), startup }).initContainersToStart;
    expect(startsWith({})).toEqual([]);
    expect(startsWith({ proxy: 'UNKNOWN' })).toEqual([]);
    expect(startsWith({ proxy: 'Success' })).toEqual([1]);
  });

  test('a sidecar whose startup probe failed is killed and started again', () => {
    const initContainers = [{ ...PROXY, startupProbe: {} }, SETUP];
    const actions = actionsFor({
      spec: { initContainers },
      containers: running('proxy'),
      startup: { proxy: 'Failure' },
    });
    expect(actions).toMatchObject({
      initContainersToStart: [0],
      containersToKill: [{ reason: 'StartupProbe', message: 'Init container proxy failed startup probe' }],
    });
  });

  test('a sidecar whose liveness probe failed is restarted, and the next init container still starts', () => {
    const initContainers = [{ ...PROXY, livenessProbe: {} }, SETUP];
    const actions = actionsFor({
      spec: { initContainers },
      containers: running('proxy'),
      liveness: { proxy: 'Failure' },
    });
    expect(actions).toMatchObject({
      initContainersToStart: [0, 1],
      containersToKill: [{ reason: 'LivenessProbe', message: 'Init container proxy failed liveness probe' }],
    });
  });

  test('they are kept running beside the regular containers, and started again in the order of the spec', () => {
    const containers = [...running('web'), exited('agent'), exited('proxy', 1), exited('setup', 1)];
    expect(actionsFor({ spec, containers })).toEqual({ ...NOTHING, initContainersToStart: [0, 1] });
  });

  test('they are started again with Never too, while a regular container runs', () => {
    const containers = [...running('web', 'agent'), exited('proxy')];
    const actions = actionsFor({ spec: { ...spec, restartPolicy: 'Never' }, containers });
    expect(actions).toEqual({ ...NOTHING, initContainersToStart: [0] });
  });

  test('they are started again while init containers still run', () => {
    const containers = [exited('proxy', 1), ...running('agent', 'setup')];
    expect(actionsFor({ spec, containers }).initContainersToStart).toEqual([0]);
  });

  test('a sidecar whose spec has changed, or whose state is unknown, is killed and started again', () => {
    const containers = [...running('web', 'proxy'), instance('agent', 'unknown')];
    const actions = actionsFor({ spec, containers, changed: ['proxy'] });
    expect(actions).toMatchObject({
      initContainersToStart: [0, 1],
      containersToKill: [
        { id: 'proxy', reason: '', message: 'Init container proxy definition changed' },
        { id: 'agent', reason: 'Unknown' },
      ],
    });
  });
});

describe('ephemeral containers', () => {
  const ephemeralContainers = [{ name: 'debug' }, { name: 'trace' }];

  test('they are started once, before initialization is complete, and never again', () => {
    const spec = { ephemeralContainers, initContainers: [SETUP] };
    expect(actionsFor({ spec, containers: running('setup') }).ephemeralContainersToStart).toEqual([0, 1]);
    const containers = [...running('setup', 'trace'), exited('debug', 1)];
    expect(actionsFor({ spec, containers }).ephemeralContainersToStart).toEqual([]);
  });

  test('they wait for a sandbox', () => {
    expect(actionsFor({ spec: { ephemeralContainers }, sandboxes: [] }).ephemeralContainersToStart).toEqual(
      [],
    );
  });
});

describe('restartAllContainers', () => {
  const asking = {
    ...WEB,
    restartPolicy: 'Never',
    restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }],
  };

  test('every instance is removed and nothing else happens; the one that asked for it is removed last', () => {
    const actions = actionsFor({
      spec: {
        containers: [asking, DB],
        initContainers: [SETUP, PROXY],
        ephemeralContainers: [{ name: 'debug' }],
      },
      containers: [
        exited('web', 42),
        instance('web', 'exited', { id: 'web-old', exitCode: 1 }),
        exited('setup'),
        ...running('db', 'proxy', 'debug'),
      ],
      restartAllContainers: true,
    });
    const { containersToReset, ...rest } = actions;
    expect(containersToReset.map(({ id, kill }) => [id, kill])).toEqual([
      ['web-old', false],
      ['db', true],
      ['setup', false],
      ['proxy', true],
      ['web', false],
    ]);
    expect({ ...rest, containersToReset: [] }).toEqual(NOTHING);
  });

  test('an instance that may still run is killed before it is removed', () => {
    const actions = actionsFor({ containers: [instance('web', 'unknown')], restartAllContainers: true });
    expect(actions.containersToReset).toMatchObject([{ id: 'web', kill: true }]);
  });
});
