import type { Pod } from '../../src/types/kubernetes.ts';

interface PodFields {
  readonly name?: string;
  readonly uid?: string;
  readonly deleted?: boolean;
  readonly deletionGracePeriodSeconds?: number;
  readonly terminationGracePeriodSeconds?: number;
  readonly phase?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A pod with one container, for tests of the lifecycle. */
export function testPod(fields: PodFields = {}): Pod {
  const { name = 'web', uid = `uid-of-${name}`, deleted = false, phase, annotations } = fields;
  const { deletionGracePeriodSeconds, terminationGracePeriodSeconds = 30 } = fields;
  return {
    metadata: {
      name,
      namespace: 'default',
      uid,
      ...(annotations && { annotations }),
      ...(deleted && { deletionTimestamp: '2030-01-01T00:00:00Z' }),
      ...(deletionGracePeriodSeconds !== undefined && { deletionGracePeriodSeconds }),
    },
    spec: { containers: [{ name: 'main', command: ['sleep', '1000'] }], terminationGracePeriodSeconds },
    ...(phase !== undefined && { status: { phase } }),
  };
}
