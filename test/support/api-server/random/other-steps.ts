/** Random requests for nodes, leases and other kinds. */
import { at, deletion, type Draw, LEASES, NAMES, NODE, type RandomStep, TYPES } from './draw.ts';

export function nodeStep(draw: Draw): RandomStep {
  const name = draw.pick([NODE, NODE, NODE, 'node-2']);
  const as = draw.chance(0.6) ? 'node' : 'admin';
  const path = `/api/v1/nodes/${name}`;
  const status = draw.pick<object>([
    {
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'KubeletReady',
          message: 'm',
          lastHeartbeatTime: '2026-01-01T00:00:00Z',
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
    },
    {
      capacity: { cpu: '2', memory: '4Gi', pods: '110' },
      allocatable: { cpu: '2', memory: '4Gi', pods: '110' },
    },
    { addresses: [{ type: 'InternalIP', address: '10.0.0.9' }] },
    { daemonEndpoints: { kubeletEndpoint: { Port: 10250 } } },
    { nodeInfo: { kubeletVersion: 'v1' } },
  ]);
  return draw.weighted([
    [
      2,
      () => ({
        as,
        method: 'POST',
        path: `/api/v1/nodes${draw.query()}`,
        body: {
          apiVersion: 'v1',
          kind: 'Node',
          metadata: {
            name,
            ...draw.pick<object>([
              {},
              { labels: { 'kubernetes.io/hostname': name } },
              { labels: { 'node-role.kubernetes.io/x': '' } },
            ]),
          },
          ...draw.pick<object>([
            {},
            { spec: { unschedulable: true } },
            { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } },
            { status },
          ]),
        },
      }),
    ],
    [
      2,
      () => ({
        as,
        method: 'PATCH',
        path: `${path}/status${draw.query()}`,
        type: draw.pick([TYPES.strategic, TYPES.merge]),
        body: { status },
      }),
    ],
    [
      1,
      () => ({
        as,
        method: 'PATCH',
        path: path + draw.query(),
        type: draw.pick([TYPES.strategic, TYPES.merge]),
        body: draw.pick<object>([
          { spec: { unschedulable: true } },
          { spec: { unschedulable: null } },
          { spec: { taints: [{ key: 't', effect: 'NoExecute' }] } },
          { metadata: { labels: { zone: 'z' } } },
          { metadata: { labels: { 'node-restriction.kubernetes.io/x': 'y' } } },
          { metadata: { annotations: { a: 'b' } } },
          { spec: { podCIDR: '10.2.0.0/24', podCIDRs: ['10.2.0.0/24'] } },
        ]),
      }),
    ],
    [
      1,
      () => ({
        as,
        method: 'PUT',
        path: path + draw.query(),
        onto: 'latest',
        body: { metadata: { labels: { put: 'yes' } } },
      }),
    ],
    [1, () => ({ as, method: 'GET', path })],
    [0.5, () => deletion(draw, as, path)],
    [1, () => leaseStep(draw, as)],
  ]);
}

function leaseStep(draw: Draw, as: RandomStep['as']): RandomStep {
  const name = draw.pick([NODE, NODE, 'node-2']);
  const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime: '2026-01-01T00:00:00.000000Z' };
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name }, spec };
  return draw.weighted([
    [1, () => ({ as, method: 'POST', path: LEASES, body: lease })],
    [
      1,
      () => ({
        as,
        method: 'PUT',
        path: `${LEASES}/${name}`,
        onto: 'latest',
        body: { spec: { leaseDurationSeconds: draw.pick([40, 50, -1]) } },
      }),
    ],
    [0.3, () => ({ as, method: 'DELETE', path: `${LEASES}/${name}` })],
    [0.5, () => ({ as, method: 'GET', path: `${LEASES}/${name}` })],
  ]);
}

export function otherStep(draw: Draw): RandomStep {
  const name = draw.pick(NAMES);
  const as = draw.chance(0.3) ? 'node' : 'admin';
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name },
    ...draw.pick<object>([
      { stringData: { a: 'b' } },
      { data: { a: 'Yg==' } },
      { type: 'example.com/kind' },
      { data: { a: 'not base64!' } },
    ]),
  };
  const budgets = `/apis/policy/v1/namespaces/${draw.namespace}/poddisruptionbudgets`;
  const budget = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name },
    spec: {
      ...draw.pick<object>([{ minAvailable: 1 }, { maxUnavailable: '50%' }]),
      selector: { matchLabels: draw.labels() },
    },
  };
  const event = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `e-${name}`, namespace: draw.namespace },
    involvedObject: { kind: 'Pod', name, namespace: draw.namespace },
    reason: 'Because',
    message: 'm',
    type: 'Normal',
    count: 1,
  };
  return draw.weighted([
    [2, () => ({ as, method: 'POST', path: at(draw, 'secrets') + draw.query(), body: secret })],
    [
      1,
      () => ({
        as,
        method: 'PATCH',
        path: at(draw, 'secrets', name) + draw.query(),
        type: TYPES.merge,
        body: draw.pick<object>([
          { stringData: { n: 'v' } },
          { data: { a: null } },
          { type: 'other' },
          { immutable: true },
        ]),
      }),
    ],
    [1, () => deletion(draw, as, at(draw, 'secrets', name))],
    [1, () => ({ as, method: 'GET', path: at(draw, 'secrets', name) })],
    [1, () => ({ as: 'admin', method: 'POST', path: budgets + draw.query(), body: budget })],
    [0.5, () => deletion(draw, 'admin', `${budgets}/${name}`)],
    [
      1,
      () => ({
        as,
        method: 'POST',
        path: at(draw, 'serviceaccounts') + draw.query(),
        body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } },
      }),
    ],
    [0.5, () => deletion(draw, as, at(draw, 'serviceaccounts', name))],
    [1.5, () => ({ as, method: 'POST', path: at(draw, 'events') + draw.query(), body: event })],
    [
      1,
      () => ({
        as,
        method: 'PATCH',
        path: at(draw, 'events', `e-${name}`) + draw.query(),
        type: TYPES.strategic,
        body: { count: 2, lastTimestamp: '2026-01-01T00:00:00Z' },
      }),
    ],
  ]);
}
