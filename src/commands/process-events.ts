/** What befalls a process that has pods: it is asked to leave, loses its terminal, or finds a defect in itself. */
import { isatty } from 'node:tty';
import type { Logger } from '../server/open-logger.ts';

/** npm passes a Ctrl-C on to a process that the terminal has told already: both are one. */
const SAME_REQUEST_MS = 1000;

/** Files that others than their owner may write are never made, whoever starts this. */
export function tightenUmask(): void {
  const given = process.umask(0o077);
  process.umask(given | 0o022);
}

/**
 * Resolves with the first signal that asks to leave in good order: SIGINT, SIGTERM, or SIGHUP. A later SIGINT or SIGTERM,
 * and any SIGQUIT, do not wait for anything; `leaving` says what that means. SIGUSR1, with which Node would open its
 * debugger to every user of the machine, and SIGUSR2 are ignored.
 */
export function stopRequest(logger: Logger, leaving: string): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const leave = (signal: NodeJS.Signals, number: number): void => {
      logger.warn({ signal }, leaving);
      process.exit(128 + number);
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
 * With a terminal, SIGHUP says that it was closed: kernel, shell and npm may each say so, and none means to hurry.
 * Without one it is what service managers send to have a configuration read again, which happens by itself; nohup has no
 * other way, as Node takes back that the signal is ignored.
 */
function hangUp(
  resolve: (signal: NodeJS.Signals) => void,
  ignore: (signal: NodeJS.Signals) => void,
): (signal: NodeJS.Signals) => void {
  return [0, 1, 2].some((fd) => isatty(fd)) ? resolve : ignore;
}

/** What becomes of pods does not depend on whether somebody still reads what is printed. */
export function outliveOutput(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.removeAllListeners('error').on('error', () => undefined);
  }
}

/** What nobody caught is a defect: the state in memory cannot be trusted, but pods outlive the process. */
export function reportDefects(logger: Logger): void {
  process.on('uncaughtException', (err) => {
    logger.fatal({ err }, 'a defect of statelet; pods keep running, and the next start takes them up again');
    process.exit(1);
  });
}
