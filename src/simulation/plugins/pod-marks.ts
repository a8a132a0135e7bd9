/** The annotations and labels by which plugins and their rules tell pods apart. */
import type { Clock } from '../../types/clock.ts';
import type { Node, Pod, Taint } from '../../types/kubernetes.ts';
import type { SimulatedApiServer } from '../api/simulated-api-server.ts';
import type { KeyedRandom } from '../resources/growth.ts';
import { pick, SKIPPED_ANNOTATION, SKIPPED_LABEL } from './plugins-plan.ts';
import type { PluginWorld } from './simulated-plugin.ts';

type Marks = Pick<Pod['metadata'], 'annotations' | 'labels'>;

const QOS_LEVEL = 'katalyst.kubewharf.io/qos_level';
const SOFT_EVICT_NOTIFY = 'katalyst.kubewharf.io/pod_soft_evict_notify';
/** The last one is not a level. */
const LEVELS = [
  ...Array.from({ length: 5 }, () => undefined),
  'reclaimed_cores',
  'reclaimed_cores',
  'dedicated_cores',
  'system_cores',
  'golden_cores',
];
const NOTIFIED = 0.1;
const SKIPPED = 0.08;

/** By the UID alone. */
export function podMarks(uid: string, random: KeyedRandom): Marks {
  const is = (what: string, chance: number) => random(`plugins/pod/${uid}/${what}`) < chance;
  const level = pick(LEVELS, random(`plugins/pod/${uid}/level`));
  return {
    annotations: {
      ...(level !== undefined && { [QOS_LEVEL]: level }),
      ...(is('notified', NOTIFIED) && { [SOFT_EVICT_NOTIFY]: 'True' }),
      ...(is('skipped', SKIPPED) && { [SKIPPED_ANNOTATION]: '' }),
    },
    ...(is('kept', SKIPPED) && { labels: { [SKIPPED_LABEL]: 'yes' } }),
  };
}

const GUARDED = 0.3;

const SPENT = 0.7;

const MINUTE_MS = 60_000;

/** Whether a disruption budget keeps the pod from being evicted now. It changes from minute to minute. */
export function isGuarded(uid: string, now: number, random: KeyedRandom): boolean {
  const minute = String(Math.floor(now / MINUTE_MS));
  return random(`budget/${uid}`) < GUARDED && random(`budget/${uid}/${minute}`) < SPENT;
}

const EVERY_MS = 20_000;

const TAINTS: readonly (readonly Taint[])[] = [
  [],
  [{ key: 'example.com/mine', effect: 'NoSchedule', value: 'yes' }],
  [{ key: 'katalyst.kubewharf.io.example/other', effect: 'NoExecute' }],
];

/** A user who now and then sets other taints of the node, and at times removes all taints. */
export class TaintedBySomebody {
  /** True while this user changes the node: the change does not count against the agent. */
  isAtWork = false;

  constructor(api: SimulatedApiServer, world: PluginWorld, clock: Clock) {
    const target = { resource: 'nodes', name: api.nodeName } as const;
    let times = 0;
    const next = () => {
      if (!world.misbehaves()) return;
      const key = `taints/${String(++times)}`;
      clock.setTimeout(next, 1 + Math.floor(EVERY_MS * world.random(key)));
      if (api.store.get('nodes', target) === undefined) return;
      const node = api.store.get('nodes', target) as Node;
      const kept = (node.spec?.taints ?? []).filter(({ key: of }) => !of.includes('example'));
      const all = world.random(`${key}/all`) < 0.2 ? [] : kept;
      const taints = [...all, ...pick(TAINTS, world.random(`${key}/which`))];
      this.isAtWork = true;
      api.operations.patch(target, { spec: { taints } });
      this.isAtWork = false;
    };
    next();
  }
}
