/** Every kind of error that a caller acts on. The gRPC names where gRPC has one. */
export type ErrorKind =
  /** The call was aborted by its own signal. */
  | 'Canceled'
  /** The thing asked for does not exist (any more). */
  | 'NotFound'
  | 'AlreadyExists'
  /** The request can never succeed as it is. */
  | 'InvalidArgument'
  /** The state of the thing forbids it now (starting an exited container, say). */
  | 'FailedPrecondition'
  | 'DeadlineExceeded'
  /** The runtime does not answer; trying again can help. */
  | 'Unavailable'
  | 'Unimplemented'
  | 'Internal'
  /** The runtime does not say what kind; containerd answers most failures so. */
  | 'Unknown'
  /** There is too little of something: memory, space, or room in one message. */
  | 'ResourceExhausted'
  | 'PermissionDenied'
  | 'Unauthenticated'
  /** Another call was in the way. */
  | 'Aborted'
  | 'OutOfRange'
  | 'DataLoss';

const RETRIABLE: ReadonlySet<ErrorKind> = new Set([
  ...(['Unavailable', 'DeadlineExceeded', 'Internal'] as const),
  ...(['Unknown', 'ResourceExhausted', 'Aborted'] as const),
]);

/** An error that says what kind it is, so that callers need not read its message. */
export class StateletError extends Error {
  readonly kind: ErrorKind;

  constructor(kind: ErrorKind, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'StateletError';
    this.kind = kind;
  }

  /** Whether the same call may succeed later with nothing else changed. */
  get retriable(): boolean {
    return RETRIABLE.has(this.kind);
  }
}

/** The kind of anything thrown; what is not a StateletError is Internal. */
export function errorKind(error: unknown): ErrorKind {
  return error instanceof StateletError ? error.kind : 'Internal';
}

/** The message of anything thrown, errors of another realm included. */
export function errorMessage(error: unknown): string {
  const message: unknown = (error as { message?: unknown } | null | undefined)?.message;
  return typeof message === 'string' ? message : String(error);
}
