import type { NodeAgent } from '../actors/node-agent.ts';
import type { StateletConfig } from '../config/config.ts';
import { shutdownPeriods, shutdownSeconds } from '../policies/termination/shutdown-periods.ts';
import type { ShutdownWatch } from '../runtime/shutdown/shutdown-watch.ts';
import { systemClock } from '../system/timer.ts';
import type { Logger } from '../types/logger.ts';

/** Not started yet. Undefined where a shutdown of the machine does not wait for pods: the code for it is not loaded then. */
export async function openShutdownWatch(
  agent: NodeAgent,
  config: Pick<StateletConfig, 'shutdown'>,
  logger: Logger,
): Promise<ShutdownWatch | undefined> {
  const { shutdown } = agent;
  const seconds = shutdownSeconds(shutdownPeriods(config.shutdown));
  if (shutdown === undefined || seconds === 0) return undefined;
  const { ShutdownWatch: Watch } = await import('../runtime/shutdown/shutdown-watch.ts');
  const watch = new Watch({
    seconds,
    onShutdown: () => void agent.endGroups().then(() => watch.release()),
    onCancelled: () => shutdown.cancel(),
    clock: systemClock,
    logger,
  });
  return watch;
}
