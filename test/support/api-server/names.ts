/** Which names objects may have. */
import type { ServedType } from './served-types.ts';
import type { Cause } from './status-error.ts';

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const SUBDOMAIN_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_RULE =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
/** Kinds whose names only have to fit into a path. */
const PATH_NAMES = new Set(['rbac.authorization.k8s.io', 'certificates.k8s.io']);
const LABEL_NAMES = new Set(['namespaces', 'services']);

/** What is wrong with the name; undefined if nothing is. */
export function nameCause({ group, plural }: ServedType, name: string): Cause | undefined {
  const field = 'metadata.name';
  if (name === '')
    return {
      field,
      message: 'Required value: name or generateName is required',
      reason: 'FieldValueRequired',
    };
  if (PATH_NAMES.has(group)) {
    const flaw = name === '.' || name === '..' || /[/%]/.test(name);
    return flaw ? { field, message: `Invalid value: "${name}": may not contain '/' or '%'` } : undefined;
  }
  const isLabel = LABEL_NAMES.has(plural);
  const fits = isLabel ? LABEL.test(name) && name.length <= 63 : SUBDOMAIN.test(name) && name.length <= 253;
  return fits
    ? undefined
    : { field, message: `Invalid value: "${name}": ${isLabel ? LABEL_RULE : SUBDOMAIN_RULE}` };
}
