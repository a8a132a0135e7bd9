/** The annotations and labels by which plugins and their rules tell pods apart. */
import type { Pod } from '../../types/kubernetes.ts';
import type { KeyedRandom } from '../resources/growth.ts';
import { pick, SKIPPED_ANNOTATION, SKIPPED_LABEL } from './plugins-plan.ts';

type Marks = Pick<Pod['metadata'], 'annotations' | 'labels'>;

const QOS_LEVEL = 'katalyst.kubewharf.io/qos_level';
const SOFT_EVICT_NOTIFY = 'katalyst.kubewharf.io/pod_soft_evict_notify';
/** The last one is no level. */
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
