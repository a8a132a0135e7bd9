import type { PodReference } from './event-recorder.ts';

/** The part of pino's logger that is used here: fields first, then the message. */
export interface Logger {
  trace(fields: object, message: string): void;
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export function podFields({ name, namespace, uid }: PodReference): {
  readonly pod: string;
  readonly uid: string;
} {
  return { pod: `${namespace}/${name}`, uid };
}
