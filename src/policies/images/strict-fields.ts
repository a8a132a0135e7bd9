/** Objects that may have only known fields, each of its type. */

type Kind = 'string' | 'boolean' | 'any' | Fields | readonly [Kind] | { readonly '*': Kind };

/** The type of each field; with the name `*` of all. In brackets: a list of that type. */
export interface Fields {
  readonly [name: string]: Kind;
}

/** What is wrong with the first field that is unknown or of another type. */
export function fieldProblem(value: unknown, kind: Kind, path = ''): string | undefined {
  if (kind === 'any' || value === undefined) return undefined;
  if (typeof kind === 'string') {
    const article = kind === 'string' ? 'a text' : 'true or false';
    return typeof value === kind ? undefined : `${path}: must be ${article}`;
  }
  if (isList(kind)) {
    if (!Array.isArray(value)) return `${path}: must be a list`;
    return firstOf(value.map((item, index) => () => fieldProblem(item, kind[0], `${path}[${index}]`)));
  }
  if (!isObject(value)) return `${path || 'the content'}: must be an object`;
  return firstOf(
    Object.entries(value).map(([name, member]) => () => {
      const inner = path === '' ? name : `${path}.${name}`;
      const known = (kind as Fields)['*'] ?? (Object.hasOwn(kind, name) ? (kind as Fields)[name] : undefined);
      if (known === undefined) return `strict decoding error: unknown field "${inner}"`;
      return fieldProblem(member, known, inner);
    }),
  );
}

function isList(kind: Kind): kind is readonly [Kind] {
  return Array.isArray(kind);
}

function firstOf(checks: readonly (() => string | undefined)[]): string | undefined {
  for (const check of checks) {
    const problem = check();
    if (problem !== undefined) return problem;
  }
  return undefined;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value without members that are `null`, which count as not given. */
export function withoutNullMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNullMembers);
  if (!isObject(value)) return value;
  const given = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(given.map(([name, member]) => [name, withoutNullMembers(member)]));
}
