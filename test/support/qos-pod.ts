import type { QosLevel } from '../../src/agent/policies/eviction-plugins/qos-level.ts';
import type { Pod } from '../../src/types/kubernetes.ts';

interface QosPodFields {
  readonly level?: QosLevel;
  readonly priority?: number;
  /** Of its one container. */
  readonly requests?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A pod as eviction plugins see it. */
export function qosPod(name: string, fields: QosPodFields = {}): Pod {
  const { level, priority, requests = {}, annotations = {}, labels = {} } = fields;
  const ofLevel = level && { 'katalyst.kubewharf.io/qos_level': level };
  return {
    metadata: {
      name,
      namespace: 'default',
      uid: `uid-${name}`,
      annotations: { ...ofLevel, ...annotations },
      labels,
    },
    spec: {
      nodeName: 'node',
      containers: [{ name: 'main', resources: { requests } }],
      ...(priority !== undefined && { priority }),
    },
  };
}

export function podNames(pods: readonly Pod[]): readonly string[] {
  return pods.map(({ metadata }) => metadata.name);
}
