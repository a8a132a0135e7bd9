import { equalJson, without } from '../../../../src/agent/policies/formats/canonical-json.ts';
import { rfc3339 } from '../../../../src/agent/policies/formats/time.ts';
import { LOOPBACK } from '../bootstrap.ts';
import type { AnyObject, Draft } from '../context.ts';
import { bind } from '../pod-actions.ts';
import { typeOf } from '../served-types.ts';
import type { ControllerHost } from './controllers.ts';

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number;
}

/** Binds each pod to the first node that fits. */
export function schedulePods(host: ControllerHost): void {
  const nodes = host.store.list('nodes') as AnyObject[];
  for (const pod of host.store.list('pods') as AnyObject[]) {
    const { nodeName, schedulerName, schedulingGates = [] } = pod.spec as Draft;
    if (nodeName !== undefined || schedulerName !== 'default-scheduler' || schedulingGates.length > 0)
      continue;
    if (pod.metadata.deletionTimestamp !== undefined) continue;
    const node = nodes.find((one) => takes(host, one, pod));
    const target = { type: typeOf('pods'), namespace: pod.metadata.namespace, name: pod.metadata.name };
    if (node !== undefined)
      bind(host.objects, target, { target: { name: node.metadata.name } }, { user: LOOPBACK });
    else tellUnschedulable(host, pod, `0/${nodes.length} nodes are available.`);
  }
}

function takes({ store }: ControllerHost, node: AnyObject, pod: AnyObject): boolean {
  if (node.spec?.unschedulable === true) return false;
  const taints = ((node.spec?.taints ?? []) as Taint[]).filter(({ effect }) => effect !== 'PreferNoSchedule');
  const tolerations = (pod.spec.tolerations ?? []) as Toleration[];
  if (!taints.every((taint) => tolerations.some((toleration) => tolerates(toleration, taint)))) return false;
  const wanted = Object.entries((pod.spec.nodeSelector ?? {}) as Record<string, string>);
  if (!wanted.every(([key, value]) => node.metadata.labels?.[key] === value)) return false;
  const there = (store.list('pods') as AnyObject[]).filter(
    ({ spec, status }) =>
      spec.nodeName === node.metadata.name && !['Succeeded', 'Failed'].includes(String(status?.phase)),
  );
  return there.length < Number(node.status?.allocatable?.pods ?? 0);
}

export function tolerates(
  { key = '', operator = 'Equal', value = '', effect = '' }: Toleration,
  taint: Taint,
): boolean {
  if (effect !== '' && effect !== taint.effect) return false;
  if (key === '') return operator === 'Exists';
  return key === taint.key && (operator === 'Exists' || value === (taint.value ?? ''));
}

function tellUnschedulable({ store, now }: ControllerHost, pod: AnyObject, message: string): void {
  const conditions = (pod.status?.conditions ?? []) as Draft[];
  const formerly = conditions.find(({ type }) => type === 'PodScheduled');
  const said = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message };
  if (equalJson(said, without(formerly ?? {}, ['lastProbeTime', 'lastTransitionTime']))) return;
  const condition = { ...said, lastProbeTime: null, lastTransitionTime: rfc3339(now()) };
  const others = conditions.filter(({ type }) => type !== 'PodScheduled');
  const status = { ...pod.status, conditions: [...others, condition] };
  store.replace('pods', pod, { ...pod, status } as AnyObject, undefined);
}
