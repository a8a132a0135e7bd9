/** Handles signals, a closed terminal and uncaught errors of a process that runs pods. */
import { isatty } from 'node:tty';
import { endProcess } from '../system/run-command.ts';
import type { Logger } from '../agent/server/open-logger.ts';

/** On Ctrl-C the terminal and npm both send SIGINT: signals within this time are one request. */
const SAME_REQUEST_MS = 1000;

/** Files that are made from now on can be written only by their owner, whatever umask the process was started with. */
export function tightenUmask(): void {
  const given = process.umask(0o077);
  process.umask(given | 0o022);
}

/**
 * Resolves with the first SIGINT, SIGTERM or SIGHUP, which ask to stop in good order. A later SIGINT or SIGTERM, and any
 * SIGQUIT, end the process at once; `leaving` is then logged. SIGUSR1 and SIGUSR2 are ignored: on SIGUSR1, Node would open
 * its debugger to every user of the machine.
 */
export function stopRequest(logger: Logger, leaving: string): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const leave = (signal: NodeJS.Signals, number: number): void => {
      logger.warn({ signal }, leaving);
      endProcess(128 + number);
    };
    let firstAt: number | undefined;
    const hear = (signal: NodeJS.Signals, number: number): void => {
      firstAt ??= performance.now();
      resolve(signal);
      if (performance.now() - firstAt >= SAME_REQUEST_MS) leave(signal, number);
    };
    const ignore = (signal: NodeJS.Signals): void => logger.info({ signal }, 'a signal without effect here');
    process.on('SIGINT', hear).on('SIGTERM', hear).on('SIGQUIT', leave);
    process.on('SIGUSR1', ignore).on('SIGUSR2', ignore);
    process.on('SIGHUP', hangUp(resolve, ignore));
  });
}

/**
 * With a terminal, SIGHUP means that the terminal was closed: the agent stops in good order, even if the signal comes several
 * times. Without a terminal it is ignored: service managers send it to have the configuration read again, which the sources
 * do by themselves, and with nohup it must not stop the agent (Node undoes that nohup ignores the signal).
 */
function hangUp(
  resolve: (signal: NodeJS.Signals) => void,
  ignore: (signal: NodeJS.Signals) => void,
): (signal: NodeJS.Signals) => void {
  return [0, 1, 2].some((fd) => isatty(fd)) ? resolve : ignore;
}

/** An uncaught error is a defect: the state in memory may be wrong, so the process ends; its pods keep running. */
export function reportDefects(logger: Logger): void {
  process.on('uncaughtException', (err) => {
    logger.fatal({ err }, 'a defect of statelet; pods keep running, and the next start adopts them');
    endProcess(1);
  });
}
