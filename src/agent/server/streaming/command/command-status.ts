/** The outcome of a command, as clients read it from the error stream: a metav1.Status. */
import { isObject, parsedJson } from '../../../policies/formats/json-values.ts';
import { errorMessage, StateletError } from '../../../../types/errors.ts';

export interface CommandStatus {
  readonly metadata: object;
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message: string }[] };
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

/** A failure that the runtime's server has put into words for the client: they are passed on as they are. */
export class ReceivedFailure extends StateletError {
  readonly status: CommandStatus;

  constructor(status: CommandStatus, text: string) {
    super('Unknown', status.message ?? `the command failed: ${text}`);
    this.status = status;
  }
}

/** The exit code of a status that was received. Throws a `ReceivedFailure` for any other outcome, and `Internal` for what is no status. */
export function exitCodeOf(text: string): number {
  const received = parsed(text);
  if (received === undefined)
    throw new StateletError('Internal', `the result of the command cannot be read: ${text}`);
  const { status, reason, details } = received;
  if (status === 'Success') return 0;
  const causes = reason === 'NonZeroExitCode' ? details?.causes : undefined;
  const code = causes?.find((cause) => cause.reason === 'ExitCode')?.message ?? '';
  if (/^\d+$/u.test(code)) return Number(code);
  throw new ReceivedFailure({ ...received, metadata: {}, status: 'Failure' }, text);
}

/** Whether all of the status has come: a JSON object that is cut off cannot be parsed. */
export function isStatus(text: string): boolean {
  return parsed(text) !== undefined;
}

function parsed(text: string): Partial<CommandStatus> | undefined {
  const value = parsedJson(text);
  return isObject(value) ? value : undefined;
}
