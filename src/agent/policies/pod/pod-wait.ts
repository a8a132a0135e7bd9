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
  readonly step: 'attached' | 'staged';
  /** Unix ms. */
  readonly since: number;
}

export type PodWait = PluginWait | VolumeWait;

/** `since`: in words. */
export function podWaitText(wait: PodWait, since: string): string {
  const what =
    'volume' in wait
      ? `volume ${wait.volume} to be ${wait.step}`
      : `the device plugin of ${wait.resource} to answer ${wait.call}`;
  return `has waited since ${since} for ${what}`;
}
