/** Decodes objects and patches of clients: checks for unknown fields as strictly as the client wants. */
import type { Draft } from './context.ts';
import { checked, duplicates } from './fields/field-check.ts';
import { objectType } from './fields/field-types.ts';
import type { Asked } from './handlers.ts';
import type { ResourceRequest } from './requests.ts';
import { apiVersionOf, type ServedType } from './served-types.ts';
import { badRequest, StatusError } from './status-error.ts';
import { strictnessOf } from './write-options.ts';

/** Decodes a body that is an object. */
export function decodedObject(asked: Asked, sent: Draft): Draft {
  const { type } = asked.request;
  const { value, unknown, wrong } = checked(sent, objectType(type), type.kind);
  const version = apiVersionOf(type).split('/').at(-1) ?? '';
  const problem = `${type.kind} in version "${version}" cannot be handled as a ${type.kind}`;
  if (wrong !== undefined) throw badRequest(`${problem}: ${wrong}`);
  const twice = twiceIn(asked);
  tellFlaws(asked, [...strange(unknown), ...twice], (why) => badRequest(`${problem}: ${why}`));
  return value as Draft;
}

/** Decodes an object that a patch has made. */
export function decodedPatched(asked: Asked, after: Draft): Draft {
  const { type } = asked.request;
  const { value, unknown, wrong } = checked(after, objectType(type), type.kind);
  const shown = JSON.stringify({ apiVersion: apiVersionOf(type), kind: type.kind, ...after });
  if (wrong !== undefined) throw refusedPatch(shown, wrong);
  tellFlaws(asked, [...twiceIn(asked), ...strange(unknown)], (why) => refusedPatch(shown, why));
  return value as Draft;
}

function tellFlaws(
  { request, warnings }: Asked,
  flaws: readonly string[],
  refuse: (why: string) => StatusError,
): void {
  const strictness = strictnessOf(request);
  if (strictness === 'Warn') warnings.push(...flaws);
  if (strictness === 'Strict' && flaws.length > 0) throw refuse(`strict decoding error: ${flaws.join(', ')}`);
}

const strange = (unknown: readonly string[]): string[] => unknown.map((path) => `unknown field "${path}"`);

const twiceIn = ({ text }: Asked): string[] =>
  (text === '' ? [] : duplicates(text)).map((path) => `duplicate field "${path}"`);

/** Without empty members, which are not served. */
export function knownPart(type: ServedType, object: Draft): Draft {
  return checked(object, objectType(type), type.kind).value as Draft;
}

/** Decodes an applied configuration. Its fields must be known, however strict the client is. */
export function decodedConfig(request: ResourceRequest, sent: Draft): Draft {
  const { type } = request;
  const { unknown, wrong } = checked(sent, objectType(type), type.kind);
  if (unknown.length === 0 && wrong === undefined) return sent;
  const { namespace = '', name = '' } = (sent.metadata ?? {}) as Draft;
  const kind = `/${apiVersionOf(type).includes('/') ? apiVersionOf(type) : type.version}, Kind=${type.kind}`;
  const why = [
    ...unknown.map((path) => `.${path}: field not declared in schema`),
    ...(wrong === undefined ? [] : [wrong]),
  ];
  const what = why.length === 1 ? ` ${why[0] ?? ''}` : ` errors:\n${why.map((one) => `  ${one}`).join('\n')}`;
  throw new StatusError(
    500,
    '',
    `failed to create typed patch object (${String(namespace)}/${String(name)}; ${kind}):${what}`,
  );
}

function refusedPatch(value: string, why: string): StatusError {
  const message = `Invalid value: ${JSON.stringify(value)}: ${why}`;
  const causes = [{ reason: 'FieldValueInvalid', message, field: 'patch' }];
  return new StatusError(422, 'Invalid', ` "" is invalid: patch: ${message}`, { causes });
}
