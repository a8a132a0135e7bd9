/** How long a node that shuts down gives its pods: fields of KubeletConfiguration. As with the kubelet, there are no flags. */
import { parseDuration } from '../policies/formats/duration.ts';
import { shutdownProblems } from '../policies/termination/shutdown-periods.ts';
import { StateletError } from '../../types/errors.ts';
import type { ShutdownPeriod, ShutdownSettings } from '../../types/node-settings.ts';

/** The fields of the file, with the file's types. */
export interface ShutdownFields {
  readonly shutdownGracePeriod?: string;
  readonly shutdownGracePeriodCriticalPods?: string;
  readonly shutdownGracePeriodByPodPriority?: readonly Partial<ShutdownPeriod>[];
}

export const SHUTDOWN_FIELDS: readonly string[] = [
  'shutdownGracePeriod',
  'shutdownGracePeriodCriticalPods',
  'shutdownGracePeriodByPodPriority',
];

/** Throws `InvalidArgument`; the message names the file and the fields that do not fit together. */
export function resolveShutdownSettings(file: ShutdownFields, fileName: string): ShutdownSettings {
  const settings = {
    shutdownGracePeriodMs: parseDuration(file.shutdownGracePeriod ?? '0s') ?? 0,
    shutdownGracePeriodCriticalPodsMs: parseDuration(file.shutdownGracePeriodCriticalPods ?? '0s') ?? 0,
    shutdownGracePeriodByPodPriority: (file.shutdownGracePeriodByPodPriority ?? []).map((period) => ({
      priority: 0,
      shutdownGracePeriodSeconds: 0,
      ...period,
    })),
  };
  const [problem] = shutdownProblems(settings);
  if (problem !== undefined) throw new StateletError('InvalidArgument', `${fileName}: ${problem}`);
  return settings;
}
