import { describe, expect, test } from '@jest/globals';
import {
  containerGarbage,
  type ContainerGCPolicy,
  CONTAINER_GC_POLICY,
  sandboxGarbage,
} from '../../../../src/agent/policies/garbage/dead-containers.ts';
import type {
  Container,
  ContainerStateName,
  PodSandbox,
  PodSandboxState,
} from '../../../../src/types/cri.ts';

const NOW = 1_000_000;

interface Fields {
  readonly uid?: string;
  readonly state?: ContainerStateName;
  readonly createdAt?: number;
  readonly sandbox?: string;
}

/** `name.attempt`. By default each attempt was created a second after the one before; `createdAt` is in ms. */
function container(
  id: string,
  { uid = 'pod', state = 'CONTAINER_EXITED', createdAt, sandbox = '' }: Fields = {},
): Container {
  const [name = '', attempt = '0'] = id.split('.');
  return {
    id: `${uid}/${id}`,
    podSandboxId: sandbox,
    metadata: { name, attempt: Number(attempt) },
    image: '',
    imageRef: '',
    state,
    createdAt: (createdAt ?? 1000 * Number(attempt)) * 1e6,
    labels: uid === '' ? {} : { 'io.kubernetes.pod.uid': uid },
    annotations: {},
  };
}

function garbage(
  containers: readonly Container[],
  more: Partial<ContainerGCPolicy> = {},
  removable: string[] = [],
) {
  const facts = { containers, now: NOW, isPodRemovable: (uid: string) => removable.includes(uid) };
  return containerGarbage(facts, { ...CONTAINER_GC_POLICY, ...more }).map(({ container: { id } }) => id);
}

const RUNNING: Fields = { state: 'CONTAINER_RUNNING' };
const CREATED: Fields = { state: 'CONTAINER_CREATED' };

describe('dead containers', () => {
  test('the newest instance of each container of each pod is kept', () => {
    const all = ['a.0', 'a.1', 'a.2', 'b.0'].flatMap((id) => [
      container(id),
      container(id, { uid: 'other' }),
    ]);
    expect(garbage(all)).toEqual(['pod/a.0', 'other/a.0', 'pod/a.1', 'other/a.1']);
  });

  test('a running container is not dead', () => {
    expect(garbage([container('a.0'), container('a.1'), container('a.2', RUNNING)])).toEqual(['pod/a.0']);
  });

  test('a container in an unknown state counts as dead', () => {
    const unknown = container('a.0', { state: 'CONTAINER_UNKNOWN' });
    expect(garbage([unknown, container('a.1')])).toEqual(['pod/a.0']);
  });

  test('the newest is the one with the highest attempt, whatever its time', () => {
    const all = [container('a.1', { createdAt: 5 }), container('a.0', { createdAt: 900 })];
    expect(garbage(all)).toEqual(['pod/a.0']);
  });

  test('the policy sets how many are kept: none, two, all', () => {
    const all = [container('a.0'), container('a.1'), container('a.2')];
    expect(garbage(all, { maxPerPodContainer: 0 })).toEqual(['pod/a.0', 'pod/a.1', 'pod/a.2']);
    expect(garbage(all, { maxPerPodContainer: 2 })).toEqual(['pod/a.0']);
    expect(garbage(all, { maxPerPodContainer: -1 })).toEqual([]);
  });

  test('a container that is being started is never garbage, unless its pod is removed', () => {
    const all = [container('a.0', CREATED), container('a.1', CREATED)];
    expect(garbage(all, { maxPerPodContainer: 0 })).toEqual(['pod/a.0']);
  });

  test('a container younger than the minimum age is kept', () => {
    const all = [container('a.0', { createdAt: NOW - 500 }), container('a.1', { createdAt: NOW - 400 })];
    expect(garbage(all, { minAgeMs: 501, maxPerPodContainer: 0 })).toEqual([]);
    expect(garbage(all, { minAgeMs: 500, maxPerPodContainer: 0 })).toEqual(['pod/a.0']);
  });

  test('all dead containers of a removed pod are garbage, also one that never ran; a running one is not', () => {
    const all = [container('a.0'), container('a.1', CREATED), container('b.0', RUNNING)];
    expect(garbage(all, {}, ['pod'])).toEqual(['pod/a.0', 'pod/a.1']);
  });

  test('a container or sandbox without the UID of a pod is kept', () => {
    const all = [container('a.0', { uid: '' }), container('a.1', { uid: '' })];
    expect(garbage(all, { maxPerPodContainer: 0 }, [''])).toEqual([]);
  });

  test('the reason is given: its pod is removed, or there are newer instances', () => {
    const containers = [container('a.0'), container('a.1'), container('b.0', { uid: 'gone' })];
    const facts = { containers, now: NOW, isPodRemovable: (uid: string) => uid === 'gone' };
    const found = containerGarbage(facts, CONTAINER_GC_POLICY);
    expect(found.map(({ podUid, withPod }) => [podUid, withPod])).toEqual([
      ['gone', true],
      ['pod', false],
    ]);
  });
});

describe('a limit for the whole node', () => {
  const all = ['a.0', 'a.1', 'a.2', 'b.3', 'b.4'].map((id) => container(id));
  const UNLIMITED = { maxPerPodContainer: -1 };

  test('that is not reached changes nothing', () => {
    expect(garbage(all, { ...UNLIMITED, maxContainers: 5 })).toEqual([]);
  });

  test('leaves each container the same number of instances', () => {
    expect(garbage(all, { ...UNLIMITED, maxContainers: 4 })).toEqual(['pod/a.0']);
  });

  test('leaves each container at least one instance; if that is too many, the newest of all', () => {
    expect(garbage(all, { ...UNLIMITED, maxContainers: 1 })).toEqual([
      'pod/a.0',
      'pod/a.1',
      'pod/a.2',
      'pod/b.3',
    ]);
    expect(garbage(all, { ...UNLIMITED, maxContainers: 0 })).toHaveLength(5);
  });

  test('counts the instances that the limit of each container leaves', () => {
    expect(garbage(all, { maxPerPodContainer: 1, maxContainers: 2 })).toEqual([
      'pod/a.0',
      'pod/a.1',
      'pod/b.3',
    ]);
  });
});

describe('sandboxes', () => {
  const sandbox = (id: string, state: PodSandboxState = 'SANDBOX_NOTREADY', uid = 'pod'): PodSandbox => ({
    id,
    metadata: { name: 'web', namespace: 'default', uid, attempt: Number(id.split('.')[1] ?? 0) },
    state,
    createdAt: Number(id.split('.')[1] ?? 0) * 1e9,
    labels: uid === '' ? {} : { 'io.kubernetes.pod.uid': uid },
    annotations: {},
  });
  const orphans = (
    sandboxes: readonly PodSandbox[],
    removable: readonly string[] = [],
    containers: readonly Container[] = [],
  ) =>
    sandboxGarbage(sandboxes, { containers, isPodRemovable: (uid) => removable.includes(uid) }).map(
      ({ id }) => id,
    );

  test('the newest sandbox of a pod is kept, earlier ones are garbage', () => {
    expect(orphans([sandbox('s.0'), sandbox('s.2'), sandbox('s.1')])).toEqual(['s.0', 's.1']);
  });

  test('of a removed pod the newest sandbox is garbage too', () => {
    expect(orphans([sandbox('s.0'), sandbox('s.1')], ['pod'])).toEqual(['s.0', 's.1']);
  });

  test('a sandbox that is ready, or has a container, is kept', () => {
    const sandboxes = [sandbox('s.0', 'SANDBOX_READY'), sandbox('s.1'), sandbox('s.2')];
    expect(orphans(sandboxes, ['pod'], [container('a.0', { sandbox: 's.1' })])).toEqual(['s.2']);
  });

  test('a container or sandbox without the UID of a pod is kept', () => {
    expect(orphans([sandbox('s.0', 'SANDBOX_NOTREADY', '')], [''])).toEqual([]);
  });
});
