/** A call of a device plugin that a pod waits for. */
export interface PluginWait {
  readonly resource: string;
  readonly call: 'GetPreferredAllocation' | 'Allocate' | 'PreStartContainer';
  /** Unix ms. */
  readonly since: number;
}

/** A step of a volume of a CSI driver that a pod waits for. */
export interface VolumeWait {
  /** As the API server names it. */
  readonly volume: string;
  readonly step: 'attached' | 'staged' | 'published' | 'unpublished';
  /** Unix ms. */
  readonly since: number;
}

/** A step of a ResourceClaim that a pod waits for. */
export interface ClaimWait {
  readonly claim: string;
  readonly drivers: readonly string[];
  readonly step: 'prepared' | 'unprepared';
  /** Unix ms. */
  readonly since: number;
}

export type PodWait = PluginWait | VolumeWait | ClaimWait;

/** `since`: in words. */
export function podWaitText(wait: PodWait, since: string): string {
  return `has waited since ${since} for ${whatIsAwaited(wait)}`;
}

function whatIsAwaited(wait: PodWait): string {
  if ('volume' in wait) return `volume ${wait.volume} to be ${wait.step}`;
  if ('claim' in wait)
    return `resource claim ${wait.claim} to be ${wait.step} by DRA driver ${wait.drivers.join(', ')}`;
  return `the device plugin of ${wait.resource} to answer ${wait.call}`;
}
