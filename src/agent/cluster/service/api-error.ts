import { type ErrorKind, StateletError } from '../../../types/errors.ts';

/** The kind of a `StateletError`, by the reason that the API server gives. */
const KINDS: Readonly<Record<string, ErrorKind>> = {
  BadRequest: 'InvalidArgument',
  Invalid: 'InvalidArgument',
  Unauthorized: 'Unauthenticated',
  Forbidden: 'PermissionDenied',
  NotFound: 'NotFound',
  AlreadyExists: 'AlreadyExists',
  Conflict: 'Aborted',
  Expired: 'OutOfRange',
  Gone: 'OutOfRange',
  TooManyRequests: 'ResourceExhausted',
  InternalError: 'Internal',
  ServerTimeout: 'Unavailable',
  ServiceUnavailable: 'Unavailable',
  Timeout: 'DeadlineExceeded',
};

export interface ApiErrorDetails {
  /** The HTTP status code. */
  readonly status: number;
  /** `metav1.Status.reason`: `NotFound`, `AlreadyExists`, `Conflict`, `Expired`, … */
  readonly reason: string;
  /** How long the server wants the client to wait. */
  readonly retryAfterMs?: number;
  /** The reasons in `metav1.Status.details.causes`: `NamespaceTerminating`, `FieldValueInvalid`, … */
  readonly causes?: readonly string[];
}

/** The server answered, and refused. Where it did not answer there is a `StateletError` of kind `Unavailable` or `DeadlineExceeded`. */
export class ApiError extends StateletError {
  readonly status: number;
  readonly reason: string;
  readonly retryAfterMs: number | undefined;
  readonly causes: readonly string[];

  constructor(message: string, { status, reason, retryAfterMs, causes = [] }: ApiErrorDetails) {
    super(KINDS[reason] ?? (status >= 500 ? 'Unavailable' : 'Unknown'), message);
    this.name = 'ApiError';
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
    this.causes = causes;
  }
}

/** Whether the server answered with this reason. */
export function hasReason(error: unknown, reason: string): boolean {
  return error instanceof ApiError && error.reason === reason;
}

/** Whether the server refused because the namespace of the object is being deleted, or is gone. */
export function hasNoNamespace(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return error.causes.includes('NamespaceTerminating') || error.reason === 'NotFound';
}

/** The resourceVersion is too old for the server: everything must be listed anew. */
export function isExpired(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 410 || error.reason === 'Expired');
}

/** Whether two failed requests have the same problem: each error begins with its request (`GET /api/v1/nodes/node-1: …`). */
export function isSameProblem(a: string | undefined, b: string | undefined): boolean {
  return withoutRequest(a) === withoutRequest(b);
}

function withoutRequest(problem: string | undefined): string | undefined {
  return problem?.replace(/^[A-Z]+ \/\S+: /u, '');
}

/** For how long the server asks not to be asked again. */
export function retryAfterMs(error: unknown): number {
  return error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
}
