import { expect, test } from '@jest/globals';
import { containerConfig, withAdditions } from '../../../../src/agent/policies/cri/container-config.ts';
import { additionsOf, composeNode, podOfUID } from '../../../../src/agent/runtime/node/compose-node.ts';
import type { Rejection } from '../../../../src/agent/policies/admission/rejection.ts';
import {
  orPrepareError,
  type PodDetails,
  type PodSubsystem,
  PrepareError,
} from '../../../../src/agent/runtime/node/pod-node.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { ALL_PODS } from '../../../support/pod-search.ts';
import { runtimePodStatus } from '../../../support/runtime-pod-status.ts';

const POD: Pod = {
  metadata: { uid: 'uid-web', name: 'web', namespace: 'default' },
  spec: { containers: [{ name: 'main', image: 'app:1' }] },
};
const [CONTAINER] = runtimePodStatus({
  containers: [{ id: 'c1', name: 'main', state: 'exited' }],
}).containers;
const NEVER = new AbortController().signal;

const unused = () => {
  throw new Error('not asked in this test');
};
const DETAILS: PodDetails = {
  recallContainers: unused,
  knownContainer: unused,
  rememberContainer: unused,
  startTime: unused,
  sandbox: unused,
  image: unused,
  container: unused,
  pastInstances: unused,
  podIP: unused,
};

/** A subsystem with every hook of a pod's life, which notes its calls. `failing`: the calls that reject. */
function noting(name: string, calls: string[], failing: ReadonlySet<string> = new Set()): PodSubsystem {
  const call = (hook: string) => {
    const noted = `${hook} ${name}`;
    calls.push(noted);
    return failing.has(noted) ? Promise.reject(new Error(`${name} is busy`)) : Promise.resolve();
  };
  return {
    name,
    prepare: () => call('prepare'),
    removing: () => call('removing'),
    release: () => call('release'),
    remove: () => call('remove'),
  };
}

test('a pod is prepared in the order of the list, and released and removed in the reverse order', async () => {
  const calls: string[] = [];
  const node = composeNode(
    ['cgroups', 'volumes', 'logs'].map((name) => noting(name, calls)),
    DETAILS,
  );
  await node.prepare(POD, NEVER);
  await node.removing(POD.metadata, CONTAINER!);
  await node.release('uid-web');
  await node.remove(POD.metadata);
  expect(calls).toEqual([
    ...['prepare cgroups', 'prepare volumes', 'prepare logs'],
    ...['removing logs', 'removing volumes', 'removing cgroups'],
    ...['release logs', 'release volumes', 'release cgroups'],
    ...['remove logs', 'remove volumes', 'remove cgroups'],
  ]);
});

test('each subsystem is ready before the next one begins', async () => {
  const calls: string[] = [];
  const { promise: made, resolve: make } = Promise.withResolvers<undefined>();
  const slow = {
    name: 'slow',
    prepare: async () => {
      await made;
    },
  };
  const prepared = composeNode([slow, noting('next', calls)], DETAILS).prepare(POD, NEVER);
  await Promise.resolve();
  expect(calls).toEqual([]);
  make(undefined);
  await prepared;
  expect(calls).toEqual(['prepare next']);
});

test('a subsystem that cannot be prepared keeps those after it from being prepared', async () => {
  const calls: string[] = [];
  const failing = new Set(['prepare devices']);
  const node = composeNode(
    ['cgroups', 'devices', 'volumes'].map((name) => noting(name, calls, failing)),
    DETAILS,
  );
  await expect(node.prepare(POD, NEVER)).rejects.toThrow('devices is busy');
  expect(calls).toEqual(['prepare cgroups', 'prepare devices']);
});

test.each(['release', 'remove'] as const)(
  '%s that fails leaves the subsystems before it in the list as they are; the next try goes through all',
  async (hook) => {
    const calls: string[] = [];
    const failing = new Set([`${hook} volumes`]);
    const node = composeNode(
      ['cgroups', 'volumes', 'logs'].map((name) => noting(name, calls, failing)),
      DETAILS,
    );
    const work = () => (hook === 'release' ? node.release('uid-web') : node.remove(POD.metadata));
    await expect(work()).rejects.toThrow('volumes is busy');
    expect(calls.splice(0)).toEqual([`${hook} logs`, `${hook} volumes`]);
    failing.clear();
    await work();
    expect(calls).toEqual([`${hook} logs`, `${hook} volumes`, `${hook} cgroups`]);
  },
);

test('if a subsystem has nothing of its own to remove, it releases the pod', async () => {
  const calls: string[] = [];
  const release = (uid: string) => {
    calls.push(`release ${uid}`);
    return Promise.resolve();
  };
  const node = composeNode([noting('folder', calls), { name: 'cgroups', release }], DETAILS);
  await node.remove(POD.metadata);
  expect(calls).toEqual(['release uid-web', 'remove folder']);
});

test('the first reason not to run a pod is returned, and the fields that any of them ignores', () => {
  const refusing = (reason: string): PodSubsystem => ({
    name: reason,
    unsupportedFields: () => [`spec.${reason}`],
    admit: () => ({ reason, message: `no ${reason}` }),
  });
  const node = composeNode([{ name: 'volumes' }, refusing('sysctls'), refusing('devices')], DETAILS);
  expect(node.admit(POD, NEVER)).toEqual({ reason: 'sysctls', message: 'no sysctls' });
  expect(node.unsupportedFields(POD)).toEqual(['spec.sysctls', 'spec.devices']);
  expect(composeNode([{ name: 'volumes' }], DETAILS).admit(POD, NEVER)).toBeUndefined();
});

test('a subsystem may take its time to admit a pod; the subsystems after it are called when it has admitted the pod', async () => {
  const asked: string[] = [];
  const slow = (name: string, answer?: Rejection): PodSubsystem => ({
    name,
    admit: async () => {
      asked.push(name);
      await Promise.resolve();
      return answer;
    },
  });
  const rejection = { reason: 'UnexpectedAdmissionError', message: 'no device is free' };
  const node = composeNode(
    [slow('topology'), { name: 'volumes' }, slow('devices', rejection), slow('not asked')],
    DETAILS,
  );
  expect(await node.admit(POD, NEVER)).toEqual(rejection);
  expect(asked).toEqual(['topology', 'devices']);
});

test('subsystems add to a sandbox and to the configuration of a container, in the order of the list', async () => {
  const seen: (readonly string[])[] = [];
  const device = { containerPath: '/dev/gpu', hostPath: '/dev/gpu1', permissions: 'rw' };
  const mount = {
    containerPath: '/driver',
    hostPath: '/opt/driver',
    readonly: true,
    propagation: 'PROPAGATION_PRIVATE',
  } as const;
  const additions = additionsOf([
    {
      name: 'devices',
      sandbox: () => ({ cgroupParent: '/kubepods/pod1', groups: [1] }),
      container: () =>
        Promise.resolve({
          envs: [{ key: 'GPU', value: '1' }],
          devices: [device],
          cdiDevices: [{ name: 'vendor.com/gpu=1' }],
          resources: { cpusetCpus: '2-3' },
        }),
    },
    { name: 'without hooks' },
    {
      name: 'volumes',
      sandbox: () => Promise.resolve({ groups: [2] }),
      container: (_, envs) => {
        seen.push(envs.map(({ key }) => key));
        return Promise.resolve({ mounts: [mount] });
      },
    },
  ]);
  const [container] = POD.spec.containers;
  const resolved = { command: [], args: [], envs: [{ key: 'OWN', value: 'x' }] };
  const base = containerConfig({ pod: POD, container: container!, attempt: 0, resolved });
  const resources = { cpuPeriod: 0, cpuQuota: 0, cpuShares: 2, memoryLimitInBytes: 0, oomScoreAdj: 0 };
  const request = {
    pod: POD,
    container: container!,
    attempt: 0,
    podStatus: runtimePodStatus({}),
    image: { imageRef: 'app' },
  };
  const added = await additions.container(request, base.envs);
  expect(added.reduce(withAdditions, { ...base, linux: { resources } })).toEqual({
    ...base,
    envs: [...[{ key: 'GPU', value: '1' }], ...resolved.envs],
    devices: [device],
    cdiDevices: [{ name: 'vendor.com/gpu=1' }],
    mounts: [mount],
    linux: { resources: { ...resources, cpusetCpus: '2-3' } },
  });
  expect(seen).toEqual([['GPU', 'OWN']]);
  expect(await additions.sandbox(POD)).toEqual({ cgroupParent: '/kubepods/pod1', groups: [1, 2] });
});

test('a pod is on the disk once, by its name where a subsystem knows it', async () => {
  const recordedBefore: string[][] = [];
  const names: PodSubsystem = {
    name: 'logs',
    podsOnDisk: (_search, recorded) => {
      recordedBefore.push([...recorded]);
      return Promise.resolve([POD.metadata, { uid: 'uid-old', name: 'old', namespace: 'default' }]);
    },
  };
  const uids: PodSubsystem = {
    name: 'cgroups',
    podsOnDisk: () => Promise.resolve(['uid-web', 'uid-nameless'].map(podOfUID)),
  };
  const pods = await composeNode([uids, names], DETAILS).podsOnDisk(ALL_PODS);
  expect(pods).toEqual([
    POD.metadata,
    podOfUID('uid-nameless'),
    { uid: 'uid-old', name: 'old', namespace: 'default' },
  ]);
  expect(recordedBefore).toEqual([['uid-web', 'uid-nameless']]);
  expect(await composeNode([names, uids], DETAILS).podsOnDisk(ALL_PODS)).toContain(POD.metadata);
});

test('a search leaves out the pods that are known, and each subsystem gets its thoroughness', async () => {
  const searches: boolean[] = [];
  const folders: PodSubsystem = {
    name: 'folders',
    podsOnDisk: ({ isThorough }) => {
      searches.push(isThorough);
      return Promise.resolve(['uid-web', 'uid-lost'].map(podOfUID));
    },
  };
  const node = composeNode([folders], DETAILS);
  const isKnown = (uid: string) => uid === 'uid-web';
  for (const isThorough of [true, false])
    expect(await node.podsOnDisk({ isKnown, isThorough })).toEqual([podOfUID('uid-lost')]);
  expect(searches).toEqual([true, false]);
});

test('every subsystem gets a created container, one that is used again, an image that is gone, and housekeeping', () => {
  const calls: string[] = [];
  const told = (name: string): PodSubsystem => ({
    name,
    created: (_pod, id) => calls.push(`${name} created ${id}`),
    reused: (_pod, id) => calls.push(`${name} reused ${id}`),
    forgetImage: (image) => calls.push(`${name} forget ${image}`),
    collectGarbage: () => calls.push(`${name} collect`),
  });
  const node = composeNode([told('images'), told('links')], DETAILS);
  const config = { metadata: { name: 'main', attempt: 0 } } as Parameters<typeof node.created>[2];
  node.created(POD.metadata, 'c1', config, '/logs');
  node.reused(POD.metadata, 'c1', config, '/logs');
  node.forgetImage('app:1');
  node.collectGarbage();
  expect(calls).toEqual([
    ...['images created c1', 'links created c1'],
    ...['images reused c1', 'links reused c1'],
    ...['images forget app:1', 'links forget app:1'],
    ...['images collect', 'links collect'],
  ]);
});

test('the event of a failed step has the kubelet’s reason and words', async () => {
  const failing = (reason: PrepareError['reason']) =>
    orPrepareError(reason, () => Promise.reject(new Error('no space'))).catch((error: unknown) => error);
  const [mount, group] = await Promise.all([failing('FailedMount'), failing('FailedCreatePodContainer')]);
  expect(mount).toMatchObject({ reason: 'FailedMount', message: 'no space' });
  expect(group).toMatchObject({
    reason: 'FailedCreatePodContainer',
    message: 'unable to ensure pod container exists: no space',
  });
  expect(mount).toBeInstanceOf(PrepareError);
});
