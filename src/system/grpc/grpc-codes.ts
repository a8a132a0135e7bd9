import type { ErrorKind } from '../../types/errors.ts';

/** In the order of gRPC's codes, from 1; 0 is no error. */
const KINDS: readonly ErrorKind[] = [
  ...(['Canceled', 'Unknown', 'InvalidArgument', 'DeadlineExceeded', 'NotFound'] as const),
  ...(['AlreadyExists', 'PermissionDenied', 'ResourceExhausted', 'FailedPrecondition'] as const),
  ...(['Aborted', 'OutOfRange', 'Unimplemented', 'Internal', 'Unavailable', 'DataLoss'] as const),
  'Unauthenticated',
];

export const kindOfCode = (code: number): ErrorKind => KINDS[code - 1] ?? 'Unknown';

/** The other way round. */
export const codeOfKind = (kind: ErrorKind): number => KINDS.indexOf(kind) + 1;
