import type { ErrorKind } from '../../types/errors.ts';

/** By gRPC's number, from 1: 0 is no error. */
const KINDS: readonly ErrorKind[] = [
  ...(['Canceled', 'Unknown', 'InvalidArgument', 'DeadlineExceeded', 'NotFound'] as const),
  ...(['AlreadyExists', 'PermissionDenied', 'ResourceExhausted', 'FailedPrecondition'] as const),
  ...(['Aborted', 'OutOfRange', 'Unimplemented', 'Internal', 'Unavailable', 'DataLoss'] as const),
  'Unauthenticated',
];

/** The kind of error that gRPC's status code stands for. */
export const kindOfCode = (code: number): ErrorKind => KINDS[code - 1] ?? 'Unknown';
