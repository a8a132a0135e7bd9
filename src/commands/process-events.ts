/** What befalls a process that has pods: it is asked to leave, or finds a defect in itself. */
import type { Logger } from '../api/logger.ts';

/** npm passes a Ctrl-C on to a process that the terminal has told already: both are one. */
const SAME_REQUEST_MS = 1000;

/** Resolves with the first SIGINT or SIGTERM. A later one does not wait for anything; `onLater` may say what that means. */
export function stopRequest(onLater: (signal: NodeJS.Signals) => void): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstAt: number | undefined;
    const hear = (signal: NodeJS.Signals, number: number): void => {
      firstAt ??= performance.now();
      resolve(signal);
      if (performance.now() - firstAt < SAME_REQUEST_MS) return;
      onLater(signal);
      process.exit(128 + number);
    };
    process.on('SIGINT', hear).on('SIGTERM', hear);
  });
}

/** What nobody caught is a defect: the state in memory cannot be trusted, but pods outlive the process. */
export function reportDefects(logger: Logger): void {
  process.on('uncaughtException', (err) => {
    logger.fatal({ err }, 'a defect of statelet; pods keep running, and the next start takes them up again');
    process.exit(1);
  });
}
