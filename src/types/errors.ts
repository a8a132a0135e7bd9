/** The kinds of errors that callers distinguish, by gRPC's names where it has one. */
export type ErrorKind =
  /** The call was aborted by its own signal. */
  | 'Canceled'
  /** The object does not exist, or no longer. */
  | 'NotFound'
  | 'AlreadyExists'
  /** The request can never succeed as it is. */
  | 'InvalidArgument'
  /** The state of the object forbids the call now, for example to start an exited container. */
  | 'FailedPrecondition'
  | 'DeadlineExceeded'
  /** The runtime does not answer; trying again can help. */
  | 'Unavailable'
  | 'Unimplemented'
  | 'Internal'
  /** The runtime does not say what kind; containerd answers most failures so. */
  | 'Unknown'
  /** There is not enough memory or disk space, or a message is too large. */
  | 'ResourceExhausted'
  | 'PermissionDenied'
  | 'Unauthenticated'
  /** The call conflicted with another call. */
  | 'Aborted'
  | 'OutOfRange'
  | 'DataLoss';

const RETRIABLE: ReadonlySet<ErrorKind> = new Set([
  'Unavailable',
  'DeadlineExceeded',
  'Internal',
  'Unknown',
  'ResourceExhausted',
  'Aborted',
]);

/** An error with a kind, so that callers need not parse its message. */
export class StateletError extends Error {
  readonly kind: ErrorKind;

  constructor(kind: ErrorKind, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'StateletError';
    this.kind = kind;
  }

  /** Whether the same call may succeed later. */
  get retriable(): boolean {
    return RETRIABLE.has(this.kind);
  }
}

/** For what can never succeed as it is. */
export function invalid(message: string): StateletError {
  return new StateletError('InvalidArgument', message);
}

/** The kind of any thrown value; `Internal` for errors that are no StateletError. */
export function errorKind(error: unknown): ErrorKind {
  return error instanceof StateletError ? error.kind : 'Internal';
}

/** The message of any thrown value, also of an error of another realm. */
export function errorMessage(error: unknown): string {
  const message: unknown = (error as { message?: unknown } | null | undefined)?.message;
  return typeof message === 'string' ? message : String(error);
}

/** A part of a JSON schema. */
export interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

/** An error of ajv, with its part of the schema and the value. */
export interface SchemaError {
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** Set when the name of a member is wrong, not its value. */
  readonly propertyName?: string;
  readonly parentSchema?: { readonly properties?: object; readonly description?: string };
  readonly data?: unknown;
}
