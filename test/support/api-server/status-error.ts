/** How the double refuses requests: with an object of the kind Status, by code, reason, message and details as a real server does. */
import type { ServedType } from './served-types.ts';

interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly {
    readonly reason?: string;
    readonly message?: string;
    readonly field?: string;
  }[];
  readonly retryAfterSeconds?: number;
}

export class StatusError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: StatusDetails | undefined;

  constructor(code: number, reason: string, message: string, details?: StatusDetails) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  get body(): object {
    const { message, reason, details, code } = this;
    const rest = { ...(reason !== '' && { reason }), ...(details && { details }), code };
    return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, ...rest };
  }
}

interface Named {
  readonly type: ServedType;
  readonly name: string;
}

const resourceOf = ({ plural, group }: ServedType): string => (group === '' ? plural : `${plural}.${group}`);
const detailsOf = ({ plural, group }: ServedType, name: string): StatusDetails => ({
  ...(name !== '' && { name }),
  ...(group !== '' && { group }),
  kind: plural,
});

const kindOf = ({ kind, group }: { readonly kind: string; readonly group: string }): string =>
  group === '' ? kind : `${kind}.${group}`;

export function notFound({ type, name }: Named): StatusError {
  return new StatusError(404, 'NotFound', `${resourceOf(type)} "${name}" not found`, detailsOf(type, name));
}

export function noSuchPath(): StatusError {
  return new StatusError(404, 'NotFound', 'the server could not find the requested resource', {});
}

export function alreadyExists({ type, name }: Named, isEnding = false): StatusError {
  return new StatusError(
    409,
    'AlreadyExists',
    `${isEnding ? 'object is being deleted: ' : ''}${resourceOf(type)} "${name}" already exists`,
    detailsOf(type, name),
  );
}

export function conflict({ type, name }: Named, why: string): StatusError {
  const message = `Operation cannot be fulfilled on ${resourceOf(type)} "${name}": ${why}`;
  return new StatusError(409, 'Conflict', message, detailsOf(type, name));
}

/** The object is not the one that the client means. */
export function otherUID(named: Named, wanted: string, found: string): StatusError {
  return otherObject(
    named,
    `the UID in the precondition (${wanted}) does not match the UID in record (${found}). The object might have been deleted and then recreated`,
  );
}

/** The object has another version than the client expects. */
export function otherVersion(named: Named, wanted: string, found: string): StatusError {
  return otherObject(
    named,
    `the ResourceVersion in the precondition (${wanted}) does not match the ResourceVersion in record (${found}). The object might have been modified`,
  );
}

/** Invalid metadata. The server names the cause twice. */
export function invalidTwice(named: Named, cause: Cause): StatusError {
  const { code, reason, message, details } = invalid(named, [cause]);
  const causes = [...(details?.causes ?? []), ...(details?.causes ?? [])];
  return new StatusError(code, reason, message, { ...details, causes });
}

/** An update is of another object. */
export function wrongUID(
  named: Named & { readonly namespace: string | undefined; readonly dryRun: boolean },
  wanted: string,
  found: string,
): StatusError {
  const { type, namespace, name, dryRun } = named;
  const key = [dryRun ? '' : '/registry', type.plural, namespace, name]
    .filter((part) => part !== undefined)
    .join('/');
  return conflict(
    named,
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${wanted}, UID in object meta: ${found}`,
  );
}

function otherObject({ type, name }: Named, why: string): StatusError {
  const message = `Operation cannot be fulfilled on ${kindOf(type)} "${name}": ${why}`;
  return new StatusError(409, 'Conflict', message, {
    name,
    ...(type.group !== '' && { group: type.group }),
    kind: type.kind,
  });
}

export const modified = (named: Named): StatusError =>
  conflict(
    named,
    'the object has been modified; please apply your changes to the latest version and try again',
  );

export function forbidden(
  type: ServedType,
  name: string,
  why: string,
  causes: readonly Cause[] = [],
): StatusError {
  const what = name === '' ? resourceOf(type) : `${resourceOf(type)} "${name}"`;
  const details = { ...detailsOf(type, name), ...(causes.length > 0 && { causes }) };
  return new StatusError(403, 'Forbidden', `${what} is forbidden: ${why}`, details);
}

export interface Cause {
  readonly field: string;
  readonly message: string;
  readonly reason?: string;
}

export function invalid({ type, name }: Named, causes: readonly Cause[]): StatusError {
  const lines = causes.map(({ field, message }) => `${field}: ${message}`);
  const why = lines.length === 1 ? (lines[0] ?? '') : `[${lines.join(', ')}]`;
  const { group, kind } = type;
  const details = {
    ...(name !== '' && { name }),
    ...(group !== '' && { group }),
    kind,
    causes: causes.map(withReason),
  };
  return new StatusError(422, 'Invalid', `${kindOf(type)} "${name}" is invalid: ${why}`, details);
}

function withReason({ field, message, reason = 'FieldValueInvalid' }: Cause) {
  return { reason, message, field };
}

export const badRequest = (message: string): StatusError => new StatusError(400, 'BadRequest', message);

export const unauthorized = (): StatusError => new StatusError(401, 'Unauthorized', 'Unauthorized');

export const internalError = (why: string): StatusError =>
  new StatusError(500, 'InternalError', `Internal error occurred: ${why}`, { causes: [{ message: why }] });

export const methodNotAllowed = (): StatusError =>
  new StatusError(
    405,
    'MethodNotAllowed',
    'the server does not allow this method on the requested resource',
    {},
  );

export const unsupportedMediaType = (): StatusError =>
  new StatusError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {});

export const tooLarge = (): StatusError =>
  new StatusError(413, 'RequestEntityTooLarge', 'Request entity too large: limit is 3145728');

export const expired = (version: number, oldest: number): StatusError =>
  new StatusError(410, 'Expired', `too old resource version: ${version} (${oldest})`);

export const tooOldList = (): StatusError =>
  new StatusError(410, 'Expired', 'The resourceVersion for the provided list is too old.');

export const tooOldContinue = (): StatusError =>
  new StatusError(
    410,
    'Expired',
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.',
  );

/** The version is ahead of the server: another server gave it. */
export const tooLargeVersion = (version: number, current: number, mayRetry = true): StatusError =>
  new StatusError(504, 'Timeout', `Timeout: Too large resource version: ${version}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    ...(mayRetry && { retryAfterSeconds: 1 }),
  });
