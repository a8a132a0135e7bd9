/** `statelet run`: starts the daemon, and stops it on a signal. */
import { createLogger, isForPeople, levelOf, type Logger } from '../agent/server/open-logger.ts';
import type { RunningInspector } from '../agent/server/inspector.ts';
import { EMBEDDED, type RunFlags, type StateletConfig } from '../agent/config/config.ts';
import { type Daemon, type DaemonDeps, startDaemon } from '../run/daemon.ts';
import { checkSources, configure } from './configure.ts';
import { lookedAtText, startText } from '../agent/policies/cri/found-runtimes.ts';
import type { LiveRun } from './live/live-run.ts';
import { fullName } from '../agent/policies/pod/pod-kinds.ts';
import { endProcess, type ServiceManager, takeServiceManager } from '../system/run-command.ts';
import { isTerminal, onOutputClosed } from '../system/terminal.ts';
import { errorMessage } from '../types/errors.ts';
import { reportDefects, stopRequest, tightenUmask } from './process-events.ts';
import { setV8Flags } from './v8-flags.ts';

export async function run(flags: RunFlags): Promise<void> {
  setV8Flags();
  tightenUmask();
  const manager = takeServiceManager(process.env);
  // The process goes on when its output is closed.
  onOutputClosed(() => undefined);
  const { config, warnings, notes } = await configure(flags);
  const advice = checkSources(config, flags);
  const live = await startLive(config);
  const logger = live?.logger ?? (await createLogger(config.logging));
  for (const warning of [...warnings, ...(advice === undefined ? [] : [advice])]) logger.warn(warning);
  for (const note of notes) logger.debug(note);
  try {
    await runDaemon(config, logger, { live, manager });
  } finally {
    live?.close();
  }
  logger.info('stopped');
  // Everything is closed: exit even if a handle of a library still keeps the event loop alive.
  endProcess(0);
}

interface Surroundings {
  readonly live: LiveRun | undefined;
  readonly manager: ServiceManager | undefined;
}

async function runDaemon(
  config: StateletConfig,
  logger: Logger,
  { live, manager }: Surroundings,
): Promise<void> {
  reportDefects(logger);
  const asked = stopRequest(logger, laterMessage(config));
  const inspector = await startInspector(config, logger);
  try {
    const forPeople = live !== undefined || isForPeople(config.logging);
    const stateLog = stateLogOf(logger, forPeople);
    const inspect = watchers(inspector, live);
    const daemon = await startDaemon(config, {
      logger,
      forPeople,
      setVerbosity: (level) => {
        logger.level = levelOf(level);
      },
      inspect,
      stateLog,
      welcome: live?.welcome,
    });
    if (manager) void tellReady(manager, logger);
    void warnOfMachine(config, logger);
    live?.show(await daemon.livePods());
    const reason = await Promise.race([asked, daemon.failure.then((problem) => ({ problem }))]);
    live?.stopping(typeof reason === 'string' && config.exitWithPods);
    if (typeof reason === 'object') await leave(daemon, reason.problem, logger);
    logger.info({ signal: reason }, stoppingMessage(config));
    await daemon.stop();
  } finally {
    await inspector?.close();
  }
}

/** As the kubelet does. Without it, commands right after `systemctl start` would find no daemon. */
async function tellReady(manager: ServiceManager, logger: Logger): Promise<void> {
  await manager.ready().catch((error: unknown) => {
    logger.warn({ problem: errorMessage(error) }, 'systemd could not be told that the agent is up');
  });
}

/** Logs in short what `statelet doctor` would say. The pods do not wait for it. */
async function warnOfMachine(config: StateletConfig, logger: Logger): Promise<void> {
  if (config.containerRuntimeEndpoint === EMBEDDED) return tellRuntimes(config, logger);
  try {
    const { startChecks } = await import('../doctor/start-checks.ts');
    for (const { check, message, mend } of await startChecks(config)) logger.warn({ check, mend }, message);
  } catch (error) {
    logger.debug({ problem: errorMessage(error) }, 'The machine could not be looked at');
  }
}

/** Names the runtimes of this machine to a person who has not chosen one. */
async function tellRuntimes({ given }: StateletConfig, logger: Logger): Promise<void> {
  if (given.flags.containerRuntimeEndpoint || given.file.containerRuntimeEndpoint) return;
  const { findRuntimes } = await import('../agent/runtime/cri/find-runtimes.ts');
  const found = await findRuntimes();
  const text = startText(found);
  if (text === undefined) logger.debug(`No container runtime was found: ${lookedAtText(found)}`);
  else logger.info(text);
}

/** As the kubelet does, so that a service manager starts it again. */
async function leave(daemon: Daemon, problem: string, logger: Logger): Promise<never> {
  logger.error(`${problem}; the agent ends, and pods keep running`);
  await daemon.leave();
  return endProcess(1);
}

async function startInspector(config: StateletConfig, logger: Logger): Promise<RunningInspector | undefined> {
  if (config.inspect === undefined) return undefined;
  const { startInspector: start } = await import('../agent/server/inspector.ts');
  const inspector = await start({ ...config.inspect, only: inspectedNames(config), logger });
  const shown = config.inspectOnly
    ? `actors of ${config.inspectOnly.namespace}/${config.inspectOnly.name} are`
    : 'every actor is';
  logger.info(`${shown} shown in Stately's inspector: open ${inspector.url} in a browser`);
  return inspector;
}

/** The name as it is given, and as a static pod of this name has it here. */
function inspectedNames({ inspectOnly, nodeName }: StateletConfig): readonly string[] | undefined {
  if (inspectOnly === undefined) return undefined;
  const { namespace, name } = inspectOnly;
  return [name, `${name}-${nodeName}`].map((one) => fullName({ namespace, name: one }));
}

/** At debug level each transition is logged, else, for people, the states that each pod goes through. JSON has neither, and costs nothing. */
function stateLogOf(logger: Logger, forPeople: boolean): DaemonDeps['stateLog'] {
  if (logger.isLevelEnabled('debug')) return 'transitions';
  return forPeople ? 'ways' : undefined;
}

/** Only on a terminal that can be drawn on, and not where JSON is asked for. */
async function startLive({ live, logging }: StateletConfig): Promise<LiveRun | undefined> {
  if (!live || !isTerminal('stdout') || process.env.TERM === 'dumb' || logging.format === 'json')
    return undefined;
  const { startLiveRun } = await import('./live/live-run.ts');
  return startLiveRun(logging.verbosity);
}

function watchers(inspector: RunningInspector | undefined, live: LiveRun | undefined): DaemonDeps['inspect'] {
  if (live === undefined) return inspector?.inspect;
  return (event) => {
    inspector?.inspect.next?.(event);
    live.changed();
  };
}

function stoppingMessage({ exitWithPods }: StateletConfig): string {
  return exitWithPods ? 'ending all pods; once more to leave at once' : 'stopping; pods keep running';
}

function laterMessage({ exitWithPods }: StateletConfig): string {
  return exitWithPods ? 'leaving at once: pods may be left running' : 'leaving at once';
}
