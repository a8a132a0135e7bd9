import type { Pod, PodSpec } from '../../src/types/kubernetes.ts';
import type { NodeFacts } from '../../src/types/node-facts.ts';

export type Amounts = Readonly<Record<string, string>>;

/** A node with four CPUs and 4 GiB of memory, for ten pods. */
export function testNode(facts: Partial<NodeFacts> = {}): NodeFacts {
  const amounts = { cpu: '4', memory: '4Gi', 'ephemeral-storage': '10Gi', pods: '10' };
  return {
    name: 'node1',
    os: 'linux',
    arch: 'amd64',
    labels: { zone: 'a' },
    taints: [],
    conditions: [],
    capacity: amounts,
    allocatable: amounts,
    supplementalGroupsPolicy: true,
    ...facts,
  };
}

/** A node with plenty of every resource that `allocatable` does not name. */
export function nodeOf(allocatable: Amounts): NodeFacts {
  return testNode({ allocatable: { cpu: '1000', memory: '1Ti', pods: '110', ...allocatable } });
}

/** A node with plenty of every resource. */
export const ROOMY_NODE = nodeOf({});

/** `critical`: the pod has a priority that makes it critical. */
export interface RequestingPod extends Partial<PodSpec> {
  readonly requests?: Amounts;
  readonly limits?: Amounts;
  readonly critical?: boolean;
  readonly annotations?: Amounts;
}

/** A pod with one container. Its UID is its name. */
export function requestingPod(name: string, fields: RequestingPod = {}): Pod {
  const { requests, limits, critical, annotations, ...spec } = fields;
  const resources = { ...(requests && { requests }), ...(limits && { limits }) };
  return {
    metadata: { name, namespace: 'default', uid: name, ...(annotations && { annotations }) },
    spec: {
      containers: [{ name: 'main', resources }],
      ...(critical && { priority: 2_000_000_000 }),
      ...spec,
    },
  };
}
