/** `statelet run`: configuration in, daemon up, and down again when asked to. */
import { setFlagsFromString } from 'node:v8';
import { createLogger } from '../api/logger.ts';
import type { Logger } from '../api/logger.ts';
import type { RunningInspector } from '../api/inspector.ts';
import { resolveConfig } from '../config/config.ts';
import type { RunFlags, StateletConfig } from '../config/config.ts';
import { startDaemon } from '../daemon.ts';

export async function run(flags: RunFlags): Promise<void> {
  keepHeapSmall();
  const { config, warnings } = await configure(flags);
  const logger = await createLogger(config.logging);
  for (const warning of warnings) logger.warn(warning);
  reportDefects(logger);
  const asked = stopRequest(config, logger);
  const inspector = await startInspector(config, logger);
  try {
    const daemon = await startDaemon(config, { logger, ...(inspector && { inspect: inspector.inspect }) });
    logger.info({ signal: await asked }, stoppingMessage(config));
    await daemon.stop();
  } finally {
    await inspector?.close();
  }
  logger.info('stopped');
  // Everything has been closed: whatever still holds the event loop must not hold the process.
  process.exit(0);
}

/**
 * A node agent is overhead. Left alone, V8 lets a burst of work (a hundred pods that start at once) grow the heap by 30 MB,
 * and keeps it; it costs no CPU that could be measured to collect more often instead.
 */
function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--optimize-for-size');
  setFlagsFromString('--heap-growing-percent=30');
}

async function configure(flags: RunFlags): Promise<{ config: StateletConfig; warnings: readonly string[] }> {
  if (flags.config === undefined) return withSourceWarning(resolveConfig(flags), []);
  const { loadConfiguration } = await import('../config/load-configuration.ts');
  const { configuration, warnings } = await loadConfiguration(flags.config);
  return withSourceWarning(resolveConfig(flags, configuration), warnings);
}

function withSourceWarning(config: StateletConfig, warnings: readonly string[]) {
  if (config.staticPodPath !== undefined || config.staticPodURL !== undefined) return { config, warnings };
  const advice =
    'no source of pods was given: --pod-manifest-path or --manifest-url, or the same in the --config file';
  return { config, warnings: [...warnings, advice] };
}

async function startInspector(config: StateletConfig, logger: Logger): Promise<RunningInspector | undefined> {
  if (config.inspect === undefined) return undefined;
  const { startInspector: start } = await import('../api/inspector.ts');
  const inspector = await start({ ...config.inspect, logger });
  logger.info(`every actor is shown in Stately's inspector: open ${inspector.url} in a browser`);
  return inspector;
}

function stoppingMessage({ exitWithPods }: StateletConfig): string {
  return exitWithPods ? 'ending all pods; once more to leave at once' : 'stopping; pods keep running';
}

/** npm passes a Ctrl-C on to a process that the terminal has told already: both are one. */
const SAME_REQUEST_MS = 1000;

/** Resolves with the first SIGINT or SIGTERM. A later one does not wait for anything. */
function stopRequest({ exitWithPods }: StateletConfig, logger: Logger): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstAt: number | undefined;
    const hear = (signal: NodeJS.Signals, number: number): void => {
      firstAt ??= performance.now();
      resolve(signal);
      if (performance.now() - firstAt < SAME_REQUEST_MS) return;
      logger.warn({ signal }, exitWithPods ? 'leaving at once: pods may be left running' : 'leaving at once');
      process.exit(128 + number);
    };
    process.on('SIGINT', hear).on('SIGTERM', hear);
  });
}

/** What nobody caught is a defect: the state in memory cannot be trusted, but pods outlive the daemon. */
function reportDefects(logger: Logger): void {
  process.on('uncaughtException', (err) => {
    logger.fatal({ err }, 'a defect of statelet; pods keep running, and the next start takes them up again');
    process.exit(1);
  });
}
