export interface StreamingLimits {
  /** A connection without any traffic for so long is closed; 0: never. */
  readonly idleMs: number;
  /** How long a client may take to open the streams that it has asked for. */
  readonly creationMs: number;
}

/** The kubelet's. */
export const STREAM_CREATION_MS = 30_000;

/** How long a client may take to read the rest and to close the connection, once the end has been sent to it. */
export const LINGER_MS = 15 * 60_000;

/** After a command's outcome, how long a runtime may take to say that its output has ended. */
export const SILENCE_MS = 5000;
