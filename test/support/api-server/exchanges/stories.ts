/** Requests to an API server, whose answers are recorded from a real one and compared with those of the double. */

export interface Step {
  /** Default `admin`. */
  readonly as?: 'admin' | 'node';
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  /** Default `application/json`. */
  readonly type?: string;
}

export interface Story {
  readonly name: string;
  readonly steps: readonly Step[];
  /** The path of a watch from before the first step until all its events have come. */
  readonly watched?: string;
}

const NODE = 'node-1';
const IN_DEFAULT = '/api/v1/namespaces/default';
const MAPS = `${IN_DEFAULT}/configmaps`;
const PODS = `${IN_DEFAULT}/pods`;
const STRATEGIC = 'application/strategic-merge-patch+json';
const MERGE = 'application/merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';

const get = (path: string): Step => ({ method: 'GET', path });
const post = (path: string, body: unknown): Step => ({ method: 'POST', path, body });
const put = (path: string, body: unknown): Step => ({ method: 'PUT', path, body });
const remove = (path: string, body?: unknown): Step => ({
  method: 'DELETE',
  path,
  ...(body !== undefined && { body }),
});
const patch = (path: string, type: string, body: unknown): Step => ({ method: 'PATCH', path, type, body });
const asNode = (step: Step): Step => ({ ...step, as: 'node' });

const map = (name: string, fields: object = {}) => ({
  kind: 'ConfigMap',
  apiVersion: 'v1',
  metadata: { name },
  ...fields,
});
const pod = (name: string, spec: object = {}, metadata: object = {}) => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name, ...metadata },
  spec: { nodeName: NODE, containers: [{ name: 'main', image: 'x' }], ...spec },
});
const eviction = (name: string, options: object = {}) => ({
  kind: 'Eviction',
  apiVersion: 'policy/v1',
  metadata: { name, namespace: 'default' },
  deleteOptions: options,
});

const CONFIG_MAPS: Story = {
  name: 'config-maps',
  watched: MAPS,
  steps: [
    post(MAPS, map('one', { data: { a: '1' } })),
    post(MAPS, map('one')),
    post(MAPS, map('Not A Name')),
    post(MAPS, { kind: 'ConfigMap', apiVersion: 'v1', metadata: {} }),
    post(MAPS, { kind: 'Secret', apiVersion: 'v1', metadata: { name: 'two' } }),
    post(MAPS.replace('default', 'nowhere'), map('one')),
    get(`${MAPS}/one`),
    get(`${MAPS}/two`),
    put(`${MAPS}/one`, map('one', { data: { b: '2' } })),
    put(`${MAPS}/one`, { ...map('one'), metadata: { name: 'one', resourceVersion: '1' } }),
    put(`${MAPS}/one`, map('two')),
    put(`${MAPS}/two`, map('two')),
    patch(`${MAPS}/one`, MERGE, { data: { b: null, c: '3' } }),
    patch(`${MAPS}/one`, STRATEGIC, { metadata: { labels: { color: 'blue' } } }),
    patch(`${MAPS}/one`, JSON_PATCH, [{ op: 'add', path: '/data/d', value: '4' }]),
    patch(`${MAPS}/one`, MERGE, { data: { c: '3' } }),
    patch(`${MAPS}/one`, MERGE, { metadata: { resourceVersion: '1' } }),
    patch(`${MAPS}/one?dryRun=All`, MERGE, { data: { never: 'stored' } }),
    patch(`${MAPS}/one`, 'application/what', {}),
    patch(`${MAPS}/two`, MERGE, {}),
    get(`${MAPS}?labelSelector=color%3Dblue`),
    get(`${MAPS}?fieldSelector=metadata.name%3Done`),
    patch(`${MAPS}/one`, MERGE, { immutable: true }),
    patch(`${MAPS}/one`, MERGE, { data: { c: 'other' } }),
    patch(`${MAPS}/one`, MERGE, { metadata: { finalizers: ['example.com/keep'] } }),
    remove(`${MAPS}/one`),
    patch(`${MAPS}/one`, STRATEGIC, {
      metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/keep'] },
    }),
    get(`${MAPS}/one`),
    post(MAPS, map('last')),
    remove(`${MAPS}/last`, { preconditions: { uid: 'another' } }),
    remove(`${MAPS}/last`),
    remove(`${MAPS}/last`),
  ],
};

const POD_LIVES: Story = {
  name: 'pods',
  watched: PODS,
  steps: [
    post(PODS, pod('web', { terminationGracePeriodSeconds: 20 }, { labels: { app: 'web' } })),
    post(PODS, { ...pod('empty'), spec: { containers: [] } }),
    post(PODS, pod('bound', { nodeName: undefined })),
    post(`${PODS}/bound/binding`, {
      kind: 'Binding',
      apiVersion: 'v1',
      metadata: { name: 'bound' },
      target: { kind: 'Node', name: NODE },
    }),
    post(`${PODS}/bound/binding`, {
      kind: 'Binding',
      apiVersion: 'v1',
      metadata: { name: 'bound' },
      target: { kind: 'Node', name: 'other' },
    }),
    get(`${PODS}/bound`),
    post(PODS, pod('classy', { priorityClassName: 'system-node-critical' })),
    post(PODS, pod('classless', { priorityClassName: 'none' })),
    post(PODS, pod('runner', { runtimeClassName: 'none' })),
    patch(`${PODS}/web`, STRATEGIC, { spec: { containers: [{ name: 'main', image: 'y' }] } }),
    patch(`${PODS}/web`, MERGE, { status: { phase: 'Running' } }),
    asNode(
      patch(`${PODS}/web/status`, STRATEGIC, { status: { phase: 'Running', podIPs: [{ ip: '10.0.0.1' }] } }),
    ),
    asNode(
      patch(`${PODS}/web/status`, STRATEGIC, { status: { conditions: [{ type: 'Ready', status: 'True' }] } }),
    ),
    asNode(patch(`${PODS}/web`, STRATEGIC, { metadata: { labels: { a: 'b' } } })),
    asNode(get(`${PODS}/web`)),
    asNode(get(`${PODS}/none`)),
    asNode(get(`/api/v1/pods?fieldSelector=spec.nodeName%3D${NODE}&limit=1`)),
    asNode(get('/api/v1/pods')),
    asNode(get(`${IN_DEFAULT}/secrets/none`)),
    asNode(post(PODS, pod('made-by-node'))),
    post(`${PODS}/web/eviction`, eviction('web', { preconditions: { uid: 'another' } })),
    post(`${PODS}/web/eviction`, eviction('web', { gracePeriodSeconds: 5 })),
    get(`${PODS}/web`),
    asNode(remove(`${PODS}/web`, { gracePeriodSeconds: 0 })),
    get(`${PODS}/web`),
    remove(`${PODS}/bound`, { gracePeriodSeconds: 7 }),
    remove(`${PODS}/bound?gracePeriodSeconds=0`),
    remove(`${PODS}/classy?gracePeriodSeconds=0`),
  ],
};

const NODES: Story = {
  name: 'nodes',
  steps: [
    asNode(post('/api/v1/nodes', { kind: 'Node', apiVersion: 'v1', metadata: { name: NODE } })),
    asNode(post('/api/v1/nodes', { kind: 'Node', apiVersion: 'v1', metadata: { name: 'other' } })),
    asNode(get(`/api/v1/nodes/${NODE}`)),
    asNode(get('/api/v1/nodes/other')),
    asNode(get('/api/v1/nodes')),
    asNode(
      patch(`/api/v1/nodes/${NODE}`, MERGE, { metadata: { labels: { 'node-role.kubernetes.io/x': '' } } }),
    ),
    asNode(patch(`/api/v1/nodes/${NODE}`, MERGE, { spec: { taints: [] } })),
    asNode(remove(`/api/v1/nodes/${NODE}`)),
    asNode(
      post('/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases', {
        kind: 'Lease',
        apiVersion: 'coordination.k8s.io/v1',
        metadata: { name: 'other' },
      }),
    ),
    asNode(get('/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/other')),
    remove(`/api/v1/nodes/${NODE}`),
  ],
};

const OTHERS: Story = {
  name: 'others',
  steps: [
    post(`${IN_DEFAULT}/secrets`, {
      kind: 'Secret',
      apiVersion: 'v1',
      metadata: { name: 'login' },
      stringData: { word: 'open' },
    }),
    remove(`${IN_DEFAULT}/secrets/login`),
    post(`${IN_DEFAULT}/serviceaccounts`, {
      kind: 'ServiceAccount',
      apiVersion: 'v1',
      metadata: { name: 'robot' },
    }),
    post(`${IN_DEFAULT}/serviceaccounts/robot/token`, {
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      spec: { expirationSeconds: 10 },
    }),
    post(`${IN_DEFAULT}/serviceaccounts/none/token`, {
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      spec: {},
    }),
    remove(`${IN_DEFAULT}/serviceaccounts/robot`),
    post('/apis/scheduling.k8s.io/v1/priorityclasses', {
      kind: 'PriorityClass',
      apiVersion: 'scheduling.k8s.io/v1',
      metadata: { name: 'high' },
      value: 10,
    }),
    remove('/apis/scheduling.k8s.io/v1/priorityclasses/high'),
    post('/apis/node.k8s.io/v1/runtimeclasses', {
      kind: 'RuntimeClass',
      apiVersion: 'node.k8s.io/v1',
      metadata: { name: 'plain' },
      handler: 'runc',
    }),
    patch('/apis/node.k8s.io/v1/runtimeclasses/plain', MERGE, { handler: 'other' }),
    remove('/apis/node.k8s.io/v1/runtimeclasses/plain'),
    remove('/api/v1/namespaces/default'),
    get('/api/v1/namespaces/nowhere'),
    get('/api/v1/things'),
    get('/apis/none.example.com/v1'),
    { method: 'PUT', path: MAPS, body: {} },
    post('/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      kind: 'SubjectAccessReview',
      apiVersion: 'authorization.k8s.io/v1',
      spec: { user: 'somebody', resourceAttributes: { verb: 'get', resource: 'pods' } },
    }),
    get(`${MAPS}?labelSelector=%21%21`),
  ],
};

export const STORIES: readonly Story[] = [CONFIG_MAPS, POD_LIVES, NODES, OTHERS];
