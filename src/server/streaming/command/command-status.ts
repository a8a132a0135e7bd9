/** The outcome of a command, as clients read it from the error stream: a metav1.Status. */
import { errorMessage } from '../../../types/errors.ts';

export interface CommandStatus {
  readonly metadata: object;
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: { readonly causes: readonly { readonly reason?: string; readonly message: string }[] };
  readonly code?: number;
}

const SUCCESS: CommandStatus = { metadata: {}, status: 'Success' };

export function exitStatus(code: number): CommandStatus {
  if (code === 0) return SUCCESS;
  return {
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: exit code ${code}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
  };
}

export function failureStatus(error: unknown, what: 'executing command in' | 'attaching to'): CommandStatus {
  const message = `error ${what} container: ${errorMessage(error)}`;
  return {
    metadata: {},
    status: 'Failure',
    message: `Internal error occurred: ${message}`,
    reason: 'InternalError',
    details: { causes: [{ message }] },
    code: 500,
  };
}

/** As protocols before v4 have it: the message of a failure, and nothing of a success. */
export function statusText({ status, message = '' }: CommandStatus): string {
  return status === 'Success' ? '' : message;
}

/** The exit code of a status that was received. Throws an error with the message of any other failure. */
export function exitCodeOf(text: string): number {
  const { status, message, reason, details } = parsed(text);
  if (status === 'Success') return 0;
  const cause =
    reason === 'NonZeroExitCode' && details?.causes?.find(({ reason: kind }) => kind === 'ExitCode');
  const code = cause ? Number(cause.message) : Number.NaN;
  if (Number.isInteger(code)) return code;
  throw new Error(message ?? text);
}

type Received = Partial<Omit<CommandStatus, 'details'>> & {
  readonly details?: Partial<CommandStatus['details']>;
};

function parsed(text: string): Received {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
