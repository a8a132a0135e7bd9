/** A call of a device plugin that a pod waits for. */
export interface PluginWait {
  readonly resource: string;
  readonly call: 'GetPreferredAllocation' | 'Allocate' | 'PreStartContainer';
  /** Unix ms. */
  readonly since: number;
}

/** `since`: in words. */
export function pluginWaitText({ resource, call }: PluginWait, since: string): string {
  return `has waited since ${since} for the device plugin of ${resource} to answer ${call}`;
}
