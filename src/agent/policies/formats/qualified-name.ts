/** Names of labels and annotations: `NAME`, or `PREFIX/NAME` with a DNS name before the slash. */

const NAME = /^(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const NAME_MAX_LENGTH = 63;
const PREFIX = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const PREFIX_MAX_LENGTH = 253;

/** The texts of the API server, because people search for them. */
const NAME_RULE =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const PREFIX_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/** What is wrong with the name of a label or annotation, in the words of the API server; empty where nothing is. */
export function qualifiedNameProblems(text: string): readonly string[] {
  const parts = text.split('/');
  const [name = '', prefix] = parts.toReversed();
  if (parts.length > 2) {
    return [
      `a qualified name ${NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  return [...prefixProblems(prefix), ...nameProblems(name)];
}

function* prefixProblems(prefix: string | undefined): Iterable<string> {
  if (prefix === undefined) return;
  if (prefix === '') {
    yield 'prefix part must be non-empty';
    return;
  }
  if (byteLength(prefix) > PREFIX_MAX_LENGTH)
    yield `prefix part must be no more than ${PREFIX_MAX_LENGTH} bytes`;
  if (!PREFIX.test(prefix)) yield `prefix part ${PREFIX_RULE}`;
}

function* nameProblems(name: string): Iterable<string> {
  if (name === '') yield 'name part must be non-empty';
  else if (byteLength(name) > NAME_MAX_LENGTH)
    yield `name part must be no more than ${NAME_MAX_LENGTH} bytes`;
  if (!NAME.test(name)) yield `name part ${NAME_RULE}`;
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
