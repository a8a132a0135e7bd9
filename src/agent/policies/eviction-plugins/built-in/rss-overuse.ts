/** Which pods have far more resident memory than they request: it takes page cache from other pods. */
import type { EvictPod } from '../../../../types/eviction-plugin.ts';
import type { Pod } from '../../../../types/kubernetes.ts';
import { parseQuantity, quantityValue } from '../../formats/quantity.ts';
import { isEvictable, knownQosLevel } from '../qos-level.ts';
import { bytesText, enhancementNumber } from './built-in-pods.ts';
import type { RssOveruseSettings } from '../../../../types/built-in-thresholds.ts';

const MEMORY_ENHANCEMENT = 'katalyst.kubewharf.io/memory_enhancement';
const THRESHOLD = 'rss_overuse_threshold';

/** A pod that is looked at, and how much resident memory it may hold. */
export interface RssAllowance {
  readonly pod: Pod;
  readonly factor: number;
  readonly requestBytes: number;
}

/** Throws what `parseQuantity` throws. */
export function rssAllowances(pods: readonly Pod[], settings: RssOveruseSettings): readonly RssAllowance[] {
  return pods.flatMap((pod) => {
    const factor = isLookedAt(pod, settings) ? overuseFactor(pod, settings) : undefined;
    const requestBytes = factor === undefined ? undefined : memoryRequest(pod);
    return factor === undefined || requestBytes === undefined ? [] : [{ pod, factor, requestBytes }];
  });
}

/** Those that hold more are candidates: none has to go in any case. A pod that is not measured stays. */
export function rssOveruse(
  allowances: readonly RssAllowance[],
  rssBytes: (pod: Pod) => number | undefined,
): readonly EvictPod[] {
  return allowances.flatMap(({ pod, factor, requestBytes }) => {
    const rss = rssBytes(pod);
    if (rss === undefined || rss <= factor * requestBytes) return [];
    const limit = `${factor} times its request of ${bytesText(requestBytes)}`;
    const reason = `its resident memory of ${bytesText(rss)} is more than ${limit}`;
    return [{ pod, reason, forceEvict: false }];
  });
}

function isLookedAt(pod: Pod, { labels: wanted }: RssOveruseSettings): boolean {
  const { labels = {} } = pod.metadata;
  const level = knownQosLevel(pod);
  if (level !== 'shared_cores' && level !== 'reclaimed_cores') return false;
  return isEvictable(pod) && Object.entries(wanted).every(([key, value]) => labels[key] === value);
}

/** Undefined: the pod stays. So it does if it names an invalid factor. */
function overuseFactor(pod: Pod, { allPods, factor }: RssOveruseSettings): number | undefined {
  const own = enhancementNumber(pod, MEMORY_ENHANCEMENT, THRESHOLD);
  if (own === undefined) return allPods ? factor : undefined;
  return own > 0 ? own : undefined;
}

/** Undefined if a container requests none: it is then not known how much the pod was meant to use. */
function memoryRequest({ spec: { containers } }: Pod): number | undefined {
  const requests = containers.map(({ resources }) =>
    Number(quantityValue(parseQuantity(resources?.requests?.memory ?? '0'))),
  );
  return requests.includes(0) ? undefined : requests.reduce((sum, bytes) => sum + bytes, 0);
}
