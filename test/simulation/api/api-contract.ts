/** What an API server does for a node. Held against the simulated one, and against a real one where there is one. */
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ObjectReference } from '../../../src/agent/cluster/service/api-resources.ts';
import type { ApiObject, ApiServer } from '../../../src/agent/cluster/service/api-server.ts';
import {
  CONFIG_HASH_ANNOTATION,
  CONFIG_MIRROR_ANNOTATION,
} from '../../../src/agent/policies/pod/pod-kinds.ts';
import type { ContainerStatus, Lease, Node, Pod, PodSpec } from '../../../src/types/kubernetes.ts';
import { apiPod, NODE, nodeObject, podAt, pods, refusalOf, statusOf } from './api-bed.ts';

export interface ContractBed {
  /** With the credentials of node-1. */
  readonly node: ApiServer;
  readonly admin: ApiServer;
  settle<T>(promise: Promise<T>): Promise<T>;
}

type OwnerReference = NonNullable<Pod['metadata']['ownerReferences']>[number];

const NODES = { resource: 'nodes' } as const;
const LEASES = { resource: 'leases', namespace: 'kube-node-lease' } as const;
let made = 0;

/** `beds`: makes a bed before each test. Objects of other tests may still be there. */
export function holdsTheContract(beds: () => ContractBed | Promise<ContractBed>): void {
  let bed: ContractBed;
  let name: string;
  beforeEach(async () => {
    bed = await beds();
    made += 1;
    name = `pod-${String(made)}`;
  });

  const done = <T>(answer: Promise<T>) => bed.settle(answer);
  const refused = (answer: Promise<unknown>) => bed.settle(refusalOf(answer));
  const create = (pod: Pod) => done(bed.admin.create<Pod>(pods, pod));
  const patch = (status: object, metadata: object = {}) =>
    bed.node.patch<Pod>(statusOf(name), { metadata, status });
  const get = () => done(bed.admin.get<Pod>(podAt(name)));
  const ownNode = async (): Promise<Node> => {
    await refused(bed.node.create<Node>(NODES, nodeObject()));
    return done(bed.node.get<Node>({ ...NODES, name: NODE }));
  };

  describe('pods', () => {
    test('a new pod has no status but its phase and QoS class', async () => {
      const pod = await create({ ...apiPod(name), status: { phase: 'Running' } });
      expect(pod.status).toEqual({ phase: 'Pending', qosClass: 'BestEffort' });
      expect(pod.metadata).toMatchObject({ generation: 1, uid: expect.stringMatching(/.+/) });
    });

    test('a node reads its own pods, and not those of others', async () => {
      await create(apiPod(name));
      await create(apiPod(`${name}-other`, { nodeName: 'node-2' }));
      const own = { fieldSelector: `spec.nodeName=${NODE}` };
      const listed = await done(bed.node.list<Pod>({ resource: 'pods' }, own));
      const names = listed.items.map(({ metadata }) => metadata.name);
      expect(names).toContain(name);
      expect(names).not.toContain(`${name}-other`);
      expect(await refused(bed.node.get(podAt(name)))).toBe('done');
      expect(await refused(bed.node.get(podAt(`${name}-other`)))).toMatch(
        /^403 Forbidden .* no relationship found/,
      );
      expect(await refused(bed.node.get(podAt('missing')))).toMatch(
        /^403 Forbidden .* no relationship found/,
      );
      expect(await refused(bed.node.list({ resource: 'pods' }))).toMatch(
        /^403 Forbidden .*can only list\/watch pods with spec.nodeName field selector/,
      );
    });

    test('a node deletes its own pods, of the UID that it means', async () => {
      const { metadata } = await create(apiPod(name));
      await create(apiPod(`${name}-other`, { nodeName: 'node-2' }));
      const now = { gracePeriodSeconds: 0 };
      expect(await refused(bed.node.delete(podAt(`${name}-other`), now))).toMatch(/^403 Forbidden/);
      expect(await refused(bed.node.delete(podAt(name), { ...now, uid: 'another' }))).toMatch(
        /^409 Conflict/,
      );
      expect(await refused(bed.node.delete(podAt(name), { ...now, uid: metadata.uid }))).toBe('done');
      expect(await refused(bed.node.delete(podAt(name), now))).toMatch(/^404 NotFound/);
    });

    test('a deletion gives time, and a later one only shortens it', async () => {
      await create(apiPod(name, { terminationGracePeriodSeconds: 30 }));
      await done(bed.admin.delete(podAt(name)));
      const first = (await get()).metadata;
      expect(first).toMatchObject({ deletionGracePeriodSeconds: 30, generation: 2 });
      await done(bed.admin.delete(podAt(name), { gracePeriodSeconds: 5 }));
      const { metadata } = await get();
      expect(metadata).toMatchObject({ deletionGracePeriodSeconds: 5, generation: 2 });
      const timeOf = (at: Pod['metadata']) => Date.parse(at.deletionTimestamp ?? '');
      expect(timeOf(metadata)).toBe(timeOf(first) - 25_000);
      await done(bed.admin.delete(podAt(name), { gracePeriodSeconds: 50 }));
      expect((await get()).metadata.deletionGracePeriodSeconds).toBe(5);
    });

    test('a node evicts its own pods, of the UID that it means; they say that they were disrupted', async () => {
      const { metadata } = await create(apiPod(name));
      await create(apiPod(`${name}-other`, { nodeName: 'node-2' }));
      await done(patch({ phase: 'Running' }));
      const evict = (pod: string, uid: string, gracePeriodSeconds: number) => {
        const target: ObjectReference = { ...podAt(pod), subresource: 'eviction' };
        const deleteOptions = { gracePeriodSeconds, preconditions: { uid } };
        const kind = { apiVersion: 'policy/v1', kind: 'Eviction' };
        const named = { metadata: { name: pod, namespace: 'default' } };
        return refused(bed.node.create<ApiObject>(target, { ...kind, ...named, deleteOptions } as ApiObject));
      };
      expect(await evict('missing', 'another', 5)).toMatch(/^404 NotFound/);
      expect(await evict(`${name}-other`, 'another', 5)).toMatch(
        /^403 Forbidden .*spec.nodeName set to itself/,
      );
      expect(await evict(name, 'another', 5)).toMatch(/^409 Conflict/);
      expect((await get()).metadata.deletionTimestamp).toBeUndefined();
      for (const [asked, inForce] of [
        [5, 5],
        [20, 5],
        [3, 3],
      ] as const) {
        expect(await evict(name, metadata.uid, asked)).toBe('done');
        expect((await get()).metadata.deletionGracePeriodSeconds).toBe(inForce);
      }
      expect((await get()).status?.conditions).toContainEqual(
        expect.objectContaining({
          type: 'DisruptionTarget',
          status: 'True',
          reason: 'EvictionByEvictionAPI',
        }),
      );
    });

    test.each<[string, Partial<PodSpec>, object | undefined]>([
      ['is not bound', { nodeName: '' }, undefined],
      ['has ended', {}, { phase: 'Succeeded' }],
    ])('a pod that %s is removed at once', async (_, spec, status) => {
      const { nodeName, ...rest } = apiPod(name, spec).spec;
      await create({ ...apiPod(name), spec: nodeName === '' ? rest : { ...rest, nodeName: NODE } });
      if (status !== undefined) await done(patch(status));
      await done(bed.admin.delete(podAt(name)));
      expect(await refused(bed.admin.get(podAt(name)))).toMatch(/^404/);
    });
  });

  describe('the status of a pod', () => {
    test('is changed by the node that runs the pod', async () => {
      await create(apiPod(name));
      await create(apiPod(`${name}-other`, { nodeName: 'node-2' }));
      expect((await done(patch({ phase: 'Running' }))).status?.phase).toBe('Running');
      expect(
        await refused(bed.node.patch(statusOf(`${name}-other`), { status: { phase: 'Running' } })),
      ).toMatch(/^403 Forbidden .*can only update pod status for pods with spec.nodeName set to itself/);
      expect(await refused(bed.node.patch(podAt(name), { metadata: { labels: { a: 'b' } } }))).toMatch(
        /^403/,
      );
      expect(await refused(bed.node.patch(statusOf('missing'), { status: {} }))).toMatch(/^404/);
    });

    test('of a namesake stays as it is', async () => {
      await create(apiPod(name));
      expect(await refused(patch({ phase: 'Running' }, { uid: 'another' }))).toMatch(/^(?:409|422) /);
      expect((await get()).status?.phase).toBe('Pending');
    });

    test('is all that is changed: neither labels, nor spec, nor deletion', async () => {
      await create(apiPod(name));
      expect(await refused(patch({ phase: 'Running' }, { labels: { a: 'b' } }))).toMatch(
        /^403 .*cannot update labels through pod status/,
      );
      const sent = { metadata: { deletionTimestamp: '2030-01-01T00:00:00Z' }, spec: { hostNetwork: true } };
      await done(bed.node.patch(statusOf(name), { ...sent, status: { phase: 'Running' } }));
      const { metadata, spec } = await get();
      expect(metadata.deletionTimestamp).toBeUndefined();
      expect(spec.hostNetwork).toBeUndefined();
    });

    test('that is the same gets no new version', async () => {
      await create(apiPod(name));
      const first = await done(patch({ phase: 'Running', message: 'well' }));
      const second = await done(patch({ phase: 'Running', message: 'well' }));
      expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    });

    test('of an older version of the pod is a conflict', async () => {
      await create(apiPod(name));
      expect(await refused(patch({ phase: 'Running' }, { resourceVersion: '1' }))).toMatch(/^409 Conflict/);
    });

    test.each<[string, object, RegExp]>([
      ['another QoS class', { qosClass: 'Guaranteed' }, /^422 Invalid .*status.qosClass.*immutable/],
      ['a negative generation', { observedGeneration: -1 }, /^422 .*status.observedGeneration/],
      [
        'two addresses that differ',
        { hostIP: '1.2.3.4', hostIPs: [{ ip: '1.2.3.5' }] },
        /^422 .*hostIPs\[0\]/,
      ],
      [
        'two addresses of a family',
        { podIP: '1.2.3.4', podIPs: [{ ip: '1.2.3.4' }, { ip: '1.2.3.5' }] },
        /^422 .*podIPs/,
      ],
    ])('with %s is refused', async (_, status, refusal) => {
      await create(apiPod(name));
      expect(await refused(patch(status))).toMatch(refusal);
    });

    const container = (state: ContainerStatus['state'], restartCount = 0): ContainerStatus => ({
      name: 'main',
      image: 'x',
      imageID: '',
      ready: false,
      restartCount,
      ...(state && { state }),
    });
    test.each([
      ['Never', 1, /^422 .*containerStatuses\[0\].state.*non-terminated/],
      ['OnFailure', 0, /^422 .*containerStatuses\[0\].state.*non-terminated/],
      ['OnFailure', 1, /^done/],
      ['Always', 0, /^done/],
    ])(
      'with restartPolicy %s and exit code %d: whether a container may leave its end',
      async (restartPolicy, exitCode, answer) => {
        await create(apiPod(name, { restartPolicy }));
        await done(patch({ containerStatuses: [container({ terminated: { exitCode } })] }));
        expect(await refused(patch({ containerStatuses: [container({ running: {} }, 1)] }))).toMatch(answer);
        expect(await refused(patch({ containerStatuses: [] }))).toBe('done');
      },
    );

    test('is served in the form of the server: times in seconds, missing ones null, empty fields left out', async () => {
      await create(apiPod(name));
      const conditions = [
        { type: 'Ready', status: 'True', reason: '', lastTransitionTime: '2030-01-01T00:00:00.123Z' },
      ];
      const containerStatuses = [container({ running: {} })];
      const { status } = await done(patch({ conditions, containerStatuses, podIP: '1.2.3.4', message: '' }));
      expect(status?.conditions?.[0]).toEqual({
        type: 'Ready',
        status: 'True',
        lastProbeTime: null,
        lastTransitionTime: '2030-01-01T00:00:00Z',
      });
      expect(status?.containerStatuses?.[0]).toMatchObject({
        state: { running: { startedAt: null } },
        lastState: {},
      });
      expect(status?.podIPs).toEqual([{ ip: '1.2.3.4' }]);
      expect(status).not.toHaveProperty('message');
    });

    test('with a condition that does not say whether it holds is served with an empty one', async () => {
      await create(apiPod(name));
      const { status } = await done(patch({ conditions: [{ type: 'Ready', message: 'not yet' }] }));
      expect(status?.conditions).toEqual([
        { type: 'Ready', status: '', message: 'not yet', lastProbeTime: null, lastTransitionTime: null },
      ]);
    });

    test('may go back: the server does not mind', async () => {
      await create(apiPod(name));
      await done(patch({ phase: 'Succeeded' }));
      expect((await done(patch({ phase: 'Running' }))).status?.phase).toBe('Running');
    });
  });

  describe('mirror pods', () => {
    const owner = (uid: string, more: Partial<OwnerReference> = {}): OwnerReference => ({
      apiVersion: 'v1',
      kind: 'Node',
      name: NODE,
      uid,
      controller: true,
      ...more,
    });
    const annotations = { [CONFIG_MIRROR_ANNOTATION]: 'hash', [CONFIG_HASH_ANNOTATION]: 'hash' };
    const mirror = (ownerReferences: readonly OwnerReference[], spec: Partial<PodSpec> = {}) =>
      apiPod(name, spec, { uid: 'given', annotations, ownerReferences });

    test('are made by their node, with a UID of the server', async () => {
      const { metadata } = await ownNode();
      const pod = await done(bed.node.create<Pod>(pods, mirror([owner(metadata.uid ?? '')])));
      expect(pod.metadata.uid).not.toBe('given');
      expect(await refused(bed.node.create(pods, mirror([owner(metadata.uid ?? '')])))).toMatch(
        /^409 AlreadyExists/,
      );
    });

    test.each<[string, (uid: string) => Pod, RegExp]>([
      ['an ordinary pod', () => apiPod(name), /can only create mirror pods/],
      ['no owner', () => mirror([]), /owner reference set to itself/],
      ['another UID of the node', () => mirror([owner('wrong')]), /UID mismatch/],
      [
        'an owner that is no controller',
        (uid) => mirror([owner(uid, { controller: false })]),
        /controller owner reference/,
      ],
      ['another node', (uid) => mirror([owner(uid)], { nodeName: 'node-2' }), /spec.nodeName set to itself/],
      [
        'a service account',
        (uid) => mirror([owner(uid)], { serviceAccountName: 'default' }),
        /reference serviceaccounts/,
      ],
    ])('with %s are forbidden', async (_, podOf, why) => {
      const { metadata } = await ownNode();
      const answer = await refused(bed.node.create(pods, podOf(metadata.uid ?? '')));
      expect(answer).toMatch(/^403 Forbidden/);
      expect(answer).toMatch(why);
    });
  });

  describe('the node', () => {
    test('is made, read and changed by itself alone', async () => {
      await ownNode();
      const other = { ...NODES, name: 'node-2' };
      expect(await refused(bed.node.create(NODES, nodeObject()))).toMatch(/^409 AlreadyExists/);
      expect(await refused(bed.node.create(NODES, nodeObject('node-2')))).toMatch(/^403/);
      expect(await refused(bed.node.get(other))).toMatch(/^403/);
      expect(await refused(bed.node.patch({ ...other, subresource: 'status' }, { status: {} }))).toMatch(
        /^403/,
      );
      expect(await refused(bed.node.delete({ ...NODES, name: NODE }))).toMatch(/^403/);
      expect(await refused(bed.node.list(NODES))).toMatch(/^403/);
      expect(await refused(bed.node.list(NODES, { fieldSelector: `metadata.name=${NODE}` }))).toBe('done');
    });

    test('may not change its taints, nor labels that are the cluster’s', async () => {
      await ownNode();
      const target = { ...NODES, name: NODE };
      const labels = (all: object) => refused(bed.node.patch(target, { metadata: { labels: all } }));
      expect(
        await refused(bed.node.patch(target, { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } })),
      ).toMatch(/^403 .*not allowed to modify taints/);
      expect(await labels({ 'node-role.kubernetes.io/x': '' })).toMatch(
        /^403 .*not allowed to modify labels: node-role/,
      );
      expect(await labels({ 'node-restriction.kubernetes.io/x': '' })).toMatch(/^403/);
      expect(await labels({ 'kubernetes.io/os': 'linux', 'x.node.kubernetes.io/y': 'z', own: '1' })).toBe(
        'done',
      );
    });

    test('changes its status apart from its spec', async () => {
      await ownNode();
      const target = { ...NODES, name: NODE, subresource: 'status' } as const;
      const conditions = [{ type: 'Ready', status: 'True' }];
      const sent = { spec: { unschedulable: true }, status: { conditions } };
      const node = await done(bed.node.patch<Node>(target, sent));
      expect(node.status?.conditions).toMatchObject(conditions);
      expect(node.spec?.unschedulable).toBeUndefined();
    });
  });

  describe('the lease', () => {
    const lease = (leaseName: string): Lease => ({
      metadata: { name: leaseName, namespace: LEASES.namespace },
      spec: { holderIdentity: NODE, renewTime: '2030-01-01T00:00:00.000000Z' },
    });

    test('of the node is made and replaced, version by version', async () => {
      const target = { ...LEASES, name: NODE };
      await refused(bed.node.create(LEASES, lease(NODE)));
      const found = await done(bed.node.get<Lease>(target));
      const renewed = { ...found, spec: { ...found.spec, renewTime: '2030-01-01T00:00:10.000000Z' } };
      expect(await refused(bed.node.update(target, renewed))).toBe('done');
      expect(await refused(bed.node.update(target, { ...renewed, spec: lease(NODE).spec }))).toMatch(
        /^409 Conflict/,
      );
      expect((await done(bed.node.get<Lease>(target))).spec?.renewTime).toBe('2030-01-01T00:00:10.000000Z');
    });

    test('of another node is out of reach', async () => {
      expect(await refused(bed.node.get({ ...LEASES, name: 'node-2' }))).toMatch(/^403/);
      expect(await refused(bed.node.list(LEASES))).toMatch(/^403/);
      expect(await refused(bed.node.create({ ...LEASES, namespace: 'default' }, lease(NODE)))).toMatch(
        /^403/,
      );
    });
  });
}
