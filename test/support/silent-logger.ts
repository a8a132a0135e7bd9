import type { Logger } from '../../src/types/logger.ts';

const nothing = () => undefined;

export const silentLogger: Logger = {
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
};
