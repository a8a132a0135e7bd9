/** What leaves the daemon for someone to look at: plain JSON without what containers keep secret. */

export const REDACTED = '***';

/** Deeper than any pod; deeper things are cycles or not ours. */
const MAX_DEPTH = 24;
const TOO_DEEP = '[…]';

/** Fields that are a secret, or lead to one, whatever they hold. */
const SECRET_FIELDS =
  /^(envFrom|imagePullSecrets|secret|secretRef|stringData|auth|auths|registryToken|authorization|.*(password|token|credentials?|apiKey|privateKey))$/iu;
/** Lists of `{ name, value }` or `{ key, value }` whose values are kept back. */
const PAIR_FIELDS: ReadonlySet<string> = new Set(['env', 'envs', 'httpHeaders']);
/** A whole manifest as text, with everything that is redacted elsewhere. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
const USER_IN_URL = /(?<=\/\/)[^/\s@]+(?=@)/gu;

/** A copy that JSON can hold: maps and sets as objects and lists, functions left out, errors by their message. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.replace(USER_IN_URL, REDACTED);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'function' || typeof value === 'symbol') return undefined;
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_DEPTH) return TOO_DEEP;
  if (value instanceof Error) return { name: value.name, message: redact(value.message) };
  if (value instanceof Map) return redact(Object.fromEntries(value), depth);
  if (value instanceof Set || Array.isArray(value))
    return Array.from(value, (item) => redact(item, depth + 1));
  if (hasToJSON(value)) return redact(value.toJSON(), depth + 1);
  return redactFields(value, depth + 1);
}

function redactFields(value: object, depth: number): object {
  const fields = Object.entries(value).filter(([name]) => name !== LAST_APPLIED);
  return Object.fromEntries(
    fields.map(([name, field]: [string, unknown]) => [name, redactField(name, field, depth)]),
  );
}

function redactField(name: string, field: unknown, depth: number): unknown {
  if (PAIR_FIELDS.has(name)) return Array.isArray(field) ? field.map(redactPair) : REDACTED;
  const secret = SECRET_FIELDS.test(name) && typeof field !== 'boolean' && field != null;
  return secret ? REDACTED : redact(field, depth);
}

/** `valueFrom` goes as well: it names the secret, and may hold its key. */
function redactPair(pair: unknown): unknown {
  const { name, key } = (pair ?? {}) as { name?: unknown; key?: unknown };
  return { ...(name !== undefined && { name }), ...(key !== undefined && { key }), value: REDACTED };
}

function hasToJSON(value: object): value is { toJSON(): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}
