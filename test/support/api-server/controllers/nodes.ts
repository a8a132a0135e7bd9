import { equalJson, without } from '../../../../src/agent/policies/formats/canonical-json.ts';
import { LOOPBACK } from '../bootstrap.ts';
import type { AnyObject, Draft } from '../context.ts';
import { typeOf } from '../served-types.ts';
import type { ControllerHost } from './controllers.ts';

/** Which taint a condition of a node brings. */
const TAINTS: readonly (readonly [condition: string, status: string, key: string])[] = [
  ['Ready', 'False', 'node.kubernetes.io/not-ready'],
  ['Ready', 'Unknown', 'node.kubernetes.io/unreachable'],
  ['MemoryPressure', 'True', 'node.kubernetes.io/memory-pressure'],
  ['DiskPressure', 'True', 'node.kubernetes.io/disk-pressure'],
  ['PIDPressure', 'True', 'node.kubernetes.io/pid-pressure'],
  ['NetworkUnavailable', 'True', 'node.kubernetes.io/network-unavailable'],
];
const OWN_KEYS = new Set([...TAINTS.map(([, , key]) => key), 'node.kubernetes.io/unschedulable']);
const TTL = 'node.alpha.kubernetes.io/ttl';

/** Keeps the taints of nodes in line with their conditions, and says how long nodes may cache objects. */
export function keepNodes({ store, objects }: ControllerHost): void {
  for (const node of store.list('nodes') as AnyObject[]) {
    const conditions = (node.status?.conditions ?? []) as Draft[];
    const taints = (node.spec?.taints ?? []) as Draft[];
    const wanted = TAINTS.filter(([type, status]) =>
      conditions.some((one) => one.type === type && one.status === status),
    );
    const keys = wanted.map(([, , key]) => key);
    // A node without a Ready condition is not ready.
    if (!conditions.some(({ type }) => type === 'Ready')) keys.push('node.kubernetes.io/not-ready');
    if (node.spec?.unschedulable === true) keys.push('node.kubernetes.io/unschedulable');
    const others = taints.filter(
      ({ key, effect }) => !(OWN_KEYS.has(String(key)) && effect === 'NoSchedule'),
    );
    const kept = taints.filter(({ key, effect }) => effect === 'NoSchedule' && keys.includes(String(key)));
    const added = keys.filter((key) => !kept.some((taint) => taint.key === key));
    const all = [...others, ...kept, ...added.map((key) => ({ key, effect: 'NoSchedule' }))];
    const annotations = { [TTL]: '0', ...node.metadata.annotations };
    const spec = without((node.spec ?? {}) as Draft, ['taints']);
    const isSame = equalJson(all, taints) && equalJson(annotations, node.metadata.annotations ?? {});
    if (isSame) continue;
    const target = { type: typeOf('nodes'), namespace: undefined, name: node.metadata.name };
    const sent = {
      ...node,
      metadata: { ...node.metadata, annotations },
      spec: { ...spec, ...(all.length > 0 && { taints: all }) },
    };
    objects.change(target, node, sent, { user: LOOPBACK });
  }
}
