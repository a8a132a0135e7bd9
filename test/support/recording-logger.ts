import type { Logger } from '../../src/types/logger.ts';

export interface LogLine {
  readonly level: keyof Logger;
  readonly message: string;
}

/** Keeps the lines of a log. */
export function recordingLogger(): { readonly logger: Logger; readonly lines: readonly LogLine[] } {
  const lines: LogLine[] = [];
  const keep = (level: keyof Logger) => (_: object, message: string) => void lines.push({ level, message });
  const logger: Logger = {
    trace: keep('trace'),
    debug: keep('debug'),
    info: keep('info'),
    warn: keep('warn'),
    error: keep('error'),
  };
  return { logger, lines };
}
