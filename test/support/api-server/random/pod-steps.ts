/** Random requests for pods. */
import {
  applyOptions,
  at,
  deletion,
  type Draw,
  metadataOf,
  NAMES,
  NODE,
  type RandomStep,
  TYPES,
} from './draw.ts';

function podSpec(draw: Draw): object {
  const main = draw.pick<object>([
    ...[{}, {}, { env: [{ name: 'A', value: '1' }] }, { ports: [{ containerPort: 80 }] }],
    { resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { memory: '128Mi' } } },
    { readinessProbe: { httpGet: { path: '/', port: 80 } } },
    { command: ['sleep', '1'], args: ['x'], imagePullPolicy: 'Never' },
  ]);
  const more = draw.pick<object>([
    ...[
      {},
      {},
      {},
      { restartPolicy: 'Never' },
      { terminationGracePeriodSeconds: 7 },
      { activeDeadlineSeconds: 100 },
    ],
    { initContainers: [{ name: 'init', image: 'i' }] },
    { volumes: [{ name: 'v', emptyDir: {} }] },
    { tolerations: [{ key: 'k', operator: 'Exists' }] },
    { nodeSelector: { a: 'b' } },
    { schedulingGates: [{ name: 'example.com/wait' }] },
    { hostNetwork: true },
    { priorityClassName: 'system-node-critical' },
  ]);
  const node = draw.pick<object>([{ nodeName: NODE }, { nodeName: NODE }, { nodeName: 'node-2' }, {}]);
  return {
    ...node,
    containers: [
      { name: 'main', image: 'x', ...main },
      ...(draw.chance(0.2) ? [{ name: 'side', image: 's' }] : []),
    ],
    ...more,
  };
}

export function podStep(draw: Draw): RandomStep {
  const name = draw.pick(NAMES);
  const as = draw.chance(0.35) ? 'node' : 'admin';
  const path = at(draw, 'pods', name);
  const pod = (spec: object, metadata: object = {}) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...metadata },
    spec,
  });
  const status = draw.pick<object>([
    { phase: 'Running', startTime: '2026-01-01T00:00:00Z' },
    {
      phase: 'Running',
      hostIP: '10.0.0.9',
      hostIPs: [{ ip: '10.0.0.9' }],
      podIP: '10.1.0.1',
      podIPs: [{ ip: '10.1.0.1' }],
    },
    { conditions: [{ type: 'Ready', status: 'True' }] },
    {
      conditions: [
        { type: 'Ready', status: 'False', reason: 'Why', message: 'because' },
        { type: 'Initialized', status: 'True' },
      ],
    },
    {
      containerStatuses: [
        {
          name: 'main',
          ready: true,
          restartCount: 0,
          image: 'x',
          imageID: 'i',
          containerID: 'containerd://1',
          state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
        },
      ],
    },
    { phase: 'Succeeded' },
    { phase: 'Failed', reason: 'Evicted', message: 'gone' },
    { qosClass: 'Guaranteed' },
  ]);
  return draw.weighted([
    [
      4,
      () => ({
        as: draw.chance(0.1) ? 'node' : 'admin',
        method: 'POST',
        path: at(draw, 'pods') + draw.query(),
        body: pod(podSpec(draw), draw.chance(0.3) ? metadataOf(draw) : {}),
      }),
    ],
    [
      0.5,
      () => ({
        as,
        method: 'POST',
        path: at(draw, 'pods') + draw.query(),
        body: pod(
          draw.pick<object>([
            { containers: [] },
            {},
            { containers: [{ name: 'main', image: 'x', wrong: 1 }] },
            { containers: [{ name: 'main', image: 'x' }], nope: { a: 1 } },
            { containers: [{ name: 'main', image: 'x' }], priorityClassName: 'none' },
            { containers: [{ name: 'main', image: 'x' }], runtimeClassName: 'none' },
          ]),
        ),
      }),
    ],
    [
      1.5,
      () => ({
        as,
        method: 'PUT',
        path: path + draw.query(),
        onto: draw.pick(['latest', 'latest', 'earliest'] as const),
        body: draw.pick<object>([
          { metadata: { labels: draw.labels() } },
          { spec: { activeDeadlineSeconds: 50 } },
          { spec: { terminationGracePeriodSeconds: 9 } },
          { status: { phase: 'Running' } },
          { metadata: { finalizers: ['example.com/one'] } },
        ]),
      }),
    ],
    [
      1,
      () => ({
        as,
        method: 'PATCH',
        path: path + draw.query(),
        type: TYPES.strategic,
        body: draw.pick<object>([
          { spec: { containers: [{ name: 'main', image: 'y' }] } },
          { spec: { containers: [{ name: 'new', image: 'y' }] } },
          { spec: { tolerations: [{ key: 'more', operator: 'Exists' }] } },
          { spec: { activeDeadlineSeconds: 20 } },
          { spec: { schedulingGates: [{ $patch: 'delete', name: 'example.com/wait' }] } },
          { metadata: { labels: draw.labels() } },
          { spec: { nodeName: 'node-3' } },
        ]),
      }),
    ],
    [
      1,
      () => ({
        as,
        method: 'PATCH',
        path: path + draw.query(),
        type: TYPES.merge,
        body: draw.pick<object>([
          { metadata: { annotations: { m: 'n' } } },
          { metadata: { finalizers: null } },
          { metadata: { finalizers: ['example.com/one'] } },
          { spec: { restartPolicy: 'Always' } },
          { metadata: { labels: null } },
        ]),
      }),
    ],
    [
      2,
      () => ({
        as,
        method: 'PATCH',
        path: path + draw.query(...applyOptions(draw)),
        type: TYPES.apply,
        body: pod(
          {
            ...draw.pick<object>([{}, { nodeName: NODE }]),
            containers: [
              {
                name: 'main',
                image: draw.pick(['x', 'y']),
                ...draw.pick<object>([{}, {}, { env: [{ name: 'A', value: '1' }] }]),
              },
            ],
          },
          draw.chance(0.5) ? { labels: draw.labels() } : {},
        ),
      }),
    ],
    [
      3,
      () => ({
        as: draw.chance(0.7) ? 'node' : 'admin',
        method: 'PATCH',
        path: `${path}/status${draw.query()}`,
        type: draw.pick([TYPES.strategic, TYPES.strategic, TYPES.merge]),
        body: { status },
      }),
    ],
    [
      1,
      () => ({
        as: draw.chance(0.7) ? 'node' : 'admin',
        method: 'PUT',
        path: `${path}/status${draw.query()}`,
        onto: draw.pick(['latest', 'latest', 'earliest'] as const),
        body: { status },
      }),
    ],
    [
      1,
      () => ({
        as,
        method: 'POST',
        path: `${path}/binding`,
        body: { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target: { kind: 'Node', name: NODE } },
      }),
    ],
    [
      1.5,
      () => ({
        as,
        method: 'POST',
        path: `${path}/eviction`,
        body: {
          apiVersion: 'policy/v1',
          kind: 'Eviction',
          metadata: { name, namespace: draw.namespace },
          deleteOptions: draw.pick<object>([
            {},
            { gracePeriodSeconds: 4 },
            { gracePeriodSeconds: 0 },
            { preconditions: { uid: `<<uid ${path}>>` } },
            { preconditions: { uid: 'another' } },
            { preconditions: { resourceVersion: `<<version ${path}>>` } },
            { dryRun: ['All'] },
          ]),
        },
      }),
    ],
    [
      1,
      () => ({
        as,
        method: 'PATCH',
        path: `${path}/ephemeralcontainers${draw.query()}`,
        type: TYPES.strategic,
        body: {
          spec: {
            ephemeralContainers: [
              { name: draw.pick(['debug', 'debug2', 'main']), image: draw.pick(['d', 'e']) },
            ],
          },
        },
      }),
    ],
    [
      0.7,
      () => ({
        as,
        method: 'PATCH',
        path: `${path}/resize${draw.query()}`,
        type: TYPES.strategic,
        body: {
          spec: {
            containers: [{ name: 'main', resources: { requests: { cpu: draw.pick(['100m', '200m']) } } }],
          },
        },
      }),
    ],
    [3, () => deletion(draw, as, path)],
    [1, () => ({ as, method: 'GET', path: draw.chance(0.2) ? `${path}/status` : path })],
  ]);
}
