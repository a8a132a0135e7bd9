/** The refusals of the API server: status, reason and message are those of a real one. */
import { ApiError } from '../../agent/cluster/service/api-error.ts';
import {
  type Collection,
  type ObjectReference,
  servedResource,
} from '../../agent/cluster/service/api-resources.ts';

const what = ({ resource, ...target }: Collection | ObjectReference): string =>
  'name' in target ? `${inGroup(resource)} "${target.name}"` : inGroup(resource);

function inGroup(resource: Collection['resource']): string {
  const { group } = servedResource(resource);
  return group === '' ? resource : `${resource}.${group}`;
}

export function notFound(target: ObjectReference): ApiError {
  return new ApiError(`${what(target)} not found`, { status: 404, reason: 'NotFound' });
}

export function alreadyExists(target: ObjectReference): ApiError {
  return new ApiError(`${what(target)} already exists`, { status: 409, reason: 'AlreadyExists' });
}

export function forbidden(target: Collection | ObjectReference, why: string): ApiError {
  return new ApiError(`${what(target)} is forbidden: ${why}`, { status: 403, reason: 'Forbidden' });
}

export function modified(target: ObjectReference): ApiError {
  const why = 'the object has been modified; please apply your changes to the latest version and try again';
  return new ApiError(`Operation cannot be fulfilled on ${what(target)}: ${why}`, {
    status: 409,
    reason: 'Conflict',
  });
}

export function otherUID(target: ObjectReference, wanted: string, found: string): ApiError {
  const why = `the UID in the precondition (${wanted}) does not match the UID in record (${found})`;
  return new ApiError(`Operation cannot be fulfilled on ${what(target)}: ${why}`, {
    status: 409,
    reason: 'Conflict',
  });
}

/** `field`: `status.qosClass`. */
export function invalid(target: ObjectReference, field: string, why: string): ApiError {
  const { kind } = servedResource(target.resource);
  return new ApiError(`${kind} "${target.name}" is invalid: ${field}: ${why}`, {
    status: 422,
    reason: 'Invalid',
  });
}

export function expired(version: number, oldest: number): ApiError {
  return new ApiError(`too old resource version: ${String(version)} (${String(oldest)})`, {
    status: 410,
    reason: 'Expired',
  });
}

/** The version is ahead of the server: it was given by another one, or by this one before it lost its data. */
export function tooLargeVersion(version: number, current: number): ApiError {
  return new ApiError(`Too large resource version: ${String(version)}, current: ${String(current)}`, {
    status: 504,
    reason: 'Timeout',
    retryAfterMs: 1_000,
  });
}

export function tooManyRequests(): ApiError {
  return new ApiError('the server has received too many requests and has asked us to try again later', {
    status: 429,
    reason: 'TooManyRequests',
    retryAfterMs: 1_000,
  });
}

export function disruptionBudget(): ApiError {
  return new ApiError("Cannot evict pod as it would violate the pod's disruption budget.", {
    status: 429,
    reason: 'TooManyRequests',
  });
}

export function internalError(): ApiError {
  return new ApiError('Internal error occurred: etcdserver: request timed out', {
    status: 500,
    reason: 'InternalError',
  });
}
