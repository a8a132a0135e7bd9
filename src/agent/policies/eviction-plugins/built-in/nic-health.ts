/** Which network interfaces have lost their link, and which pods chose them. */
import type { NetworkLink } from '../../../../types/eviction-plugin.ts';
import type { Pod } from '../../../../types/kubernetes.ts';
import { quantityValue } from '../../formats/quantity.ts';
import { podRequest } from '../../pod/resources.ts';
import { isEvictable } from '../qos-level.ts';
import { type Asked, type Candidates, nodeCondition } from './built-in-policy.ts';
import { gracePeriodOf } from './built-in-pods.ts';

export interface NicKept {
  /** Interfaces that have had a link: a port without a cable is no fault. */
  readonly seen: ReadonlySet<string>;
  /** Since when others have none, in milliseconds by name. */
  readonly lostSinceMs: ReadonlyMap<string, number>;
}

export const NO_LINKS: NicKept = { seen: new Set(), lostSinceMs: new Map() };

const CHOSEN_NIC = 'katalyst.kubewharf.io/nic_selection_result';
const BANDWIDTH = 'resource.katalyst.kubewharf.io/net_bandwidth';

export function unhealthyNics(
  links: readonly NetworkLink[],
  { pods, nowMs, settings: { nicHealth } }: Asked,
  before: NicKept,
): Candidates<NicKept> {
  const working = new Set(links.filter(hasLink).map(({ name }) => name));
  const users = pods.flatMap((pod) => {
    const nic = chosenNic(pod);
    return nic === undefined ? [] : [{ pod, nic }];
  });
  const here = new Set(links.map(({ name }) => name));
  const chosen = new Set(users.map(({ nic }) => nic));
  // Pods are given interfaces of the machine for themselves: one that is gone is missed only by those that chose it.
  const seen = new Set([...before.seen, ...working].filter((name) => here.has(name) || chosen.has(name)));
  const counted = new Set([...seen, ...[...chosen].filter((name) => here.has(name))]);
  const lost = [...counted].filter((name) => !working.has(name));
  const lostSinceMs = new Map(
    lost.map((name) => [name, Math.min(before.lostSinceMs.get(name) ?? nowMs, nowMs)]),
  );
  const unhealthy = new Set(
    lost.filter((name) => nowMs - (lostSinceMs.get(name) ?? nowMs) >= nicHealth.toleranceMs),
  );
  const gracePeriodSeconds = gracePeriodOf(nicHealth.gracePeriodSeconds);
  const evictPods = users
    .filter(({ nic, pod }) => unhealthy.has(nic) && isEvictable(pod))
    .map(({ nic, pod }) => ({
      pod,
      reason: `its network interface ${nic} has had no link for ${Math.round((nowMs - (lostSinceMs.get(nic) ?? nowMs)) / 1000)} s`,
      forceEvict: false,
      gracePeriodSeconds,
    }));
  const condition = unhealthy.size > 0 ? nodeCondition('NICUnhealthy', 'PreferNoSchedule') : undefined;
  return { kept: { seen, lostSinceMs }, evictPods, condition };
}

/** An interface whose driver does not report its link counts as linked. */
function hasLink({ isUp, carrier, operState }: NetworkLink): boolean {
  return isUp && carrier !== false && operState !== 'down' && operState !== 'lowerlayerdown';
}

/** As in Katalyst, only of a pod that requests bandwidth. */
function chosenNic(pod: Pod): string | undefined {
  const nic = pod.metadata.annotations?.[CHOSEN_NIC];
  return nic !== undefined && quantityValue(podRequest(pod, BANDWIDTH)) > 0n ? nic : undefined;
}
