import type { Logger } from '../../src/types/logger.ts';

/** A logger that keeps the messages of warnings and errors. */
export function warnings(): { readonly logger: Logger; readonly messages: string[] } {
  const messages: string[] = [];
  const ignore = (): void => undefined;
  const keep = (_: object, message: string): void => void messages.push(message);
  return { logger: { trace: ignore, debug: ignore, info: ignore, warn: keep, error: keep }, messages };
}
