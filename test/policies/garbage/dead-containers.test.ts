import { describe, expect, test } from '@jest/globals';
import {
  containerGarbage,
  type ContainerGCPolicy,
  CONTAINER_GC_POLICY,
  sandboxGarbage,
} from '../../../src/policies/garbage/dead-containers.ts';
import type { Container, ContainerStateName, PodSandbox, PodSandboxState } from '../../../src/types/cri.ts';

const NOW = 1_000_000;

interface Fields {
  readonly uid?: string;
  readonly state?: ContainerStateName;
  readonly createdAt?: number;
  readonly sandbox?: string;
}

/** `name.attempt`; each attempt created a second after the one before, unless said otherwise (ms). */
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
  test('the newest of each container of each pod stays', () => {
    const all = ['a.0', 'a.1', 'a.2', 'b.0'].flatMap((id) => [
      container(id),
      container(id, { uid: 'other' }),
    ]);
    expect(garbage(all)).toEqual(['pod/a.0', 'other/a.0', 'pod/a.1', 'other/a.1']);
  });

  test('what runs is none of them', () => {
    expect(garbage([container('a.0'), container('a.1'), container('a.2', RUNNING)])).toEqual(['pod/a.0']);
  });

  test('what the runtime knows nothing of is', () => {
    const unknown = container('a.0', { state: 'CONTAINER_UNKNOWN' });
    expect(garbage([unknown, container('a.1')])).toEqual(['pod/a.0']);
  });

  test('the attempt says which is the newest, whatever the clock said', () => {
    const all = [container('a.1', { createdAt: 5 }), container('a.0', { createdAt: 900 })];
    expect(garbage(all)).toEqual(['pod/a.0']);
  });

  test('as many stay as the policy says: none, two, all', () => {
    const all = [container('a.0'), container('a.1'), container('a.2')];
    expect(garbage(all, { maxPerPodContainer: 0 })).toEqual(['pod/a.0', 'pod/a.1', 'pod/a.2']);
    expect(garbage(all, { maxPerPodContainer: 2 })).toEqual(['pod/a.0']);
    expect(garbage(all, { maxPerPodContainer: -1 })).toEqual([]);
  });

  test('one that is just being started is not garbage, whatever the policy; one that never will be is', () => {
    const all = [container('a.0', CREATED), container('a.1', CREATED)];
    expect(garbage(all, { maxPerPodContainer: 0 })).toEqual(['pod/a.0']);
  });

  test('one that was created less than the minimum age ago stays', () => {
    const all = [container('a.0', { createdAt: NOW - 500 }), container('a.1', { createdAt: NOW - 400 })];
    expect(garbage(all, { minAgeMs: 501, maxPerPodContainer: 0 })).toEqual([]);
    expect(garbage(all, { minAgeMs: 500, maxPerPodContainer: 0 })).toEqual(['pod/a.0']);
  });

  test('of a pod that is gone all go, also one that never ran; what runs is not for the collector', () => {
    const all = [container('a.0'), container('a.1', CREATED), container('b.0', RUNNING)];
    expect(garbage(all, {}, ['pod'])).toEqual(['pod/a.0', 'pod/a.1']);
  });

  test('what carries no UID of a pod is not ours', () => {
    const all = [container('a.0', { uid: '' }), container('a.1', { uid: '' })];
    expect(garbage(all, { maxPerPodContainer: 0 }, [''])).toEqual([]);
  });

  test('why one goes is said: with its pod, or for newer ones', () => {
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

  test('leaves each container as many as every other', () => {
    expect(garbage(all, { ...UNLIMITED, maxContainers: 4 })).toEqual(['pod/a.0']);
  });

  test('leaves each one at least, and then the newest of all', () => {
    expect(garbage(all, { ...UNLIMITED, maxContainers: 1 })).toEqual([
      'pod/a.0',
      'pod/a.1',
      'pod/a.2',
      'pod/b.3',
    ]);
    expect(garbage(all, { ...UNLIMITED, maxContainers: 0 })).toHaveLength(5);
  });

  test('counts what the limit of each container has left', () => {
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

  test('the newest of a pod stays, those before it go', () => {
    expect(orphans([sandbox('s.0'), sandbox('s.2'), sandbox('s.1')])).toEqual(['s.0', 's.1']);
  });

  test('of a pod that is gone the newest goes, too', () => {
    expect(orphans([sandbox('s.0'), sandbox('s.1')], ['pod'])).toEqual(['s.0', 's.1']);
  });

  test('what is ready, or holds a container, stays', () => {
    const sandboxes = [sandbox('s.0', 'SANDBOX_READY'), sandbox('s.1'), sandbox('s.2')];
    expect(orphans(sandboxes, ['pod'], [container('a.0', { sandbox: 's.1' })])).toEqual(['s.2']);
  });

  test('what carries no UID of a pod is not ours', () => {
    expect(orphans([sandbox('s.0', 'SANDBOX_NOTREADY', '')], [''])).toEqual([]);
  });
});
