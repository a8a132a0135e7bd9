/** Why a log cannot be read, in the kubelet's words. */
import { goQuote } from '../formats/go-quote.ts';

/** A failed call of the system, as Go names it: `lstat /var/log/x: no such file or directory`. */
export interface FailedCall {
  readonly call: string;
  readonly path: string;
  readonly reason: string;
}

export function unresolvedLog(logPath: string, failed: FailedCall): string {
  return `failed to try resolving symlinks in path ${goQuote(logPath)}: ${goError(failed)}`;
}

export function unopenedLog(logPath: string, failed: FailedCall): string {
  return `failed to open log file ${goQuote(logPath)}: ${goError(failed)}`;
}

export function unreadLog(logPath: string, failed: FailedCall): string {
  return `failed to read log file ${goQuote(logPath)}: ${goError(failed)}`;
}

function goError({ call, path, reason }: FailedCall): string {
  return `${call} ${path}: ${reason}`;
}
