/** JSON of others, of which nothing is known. */

export type Members = Readonly<Record<string, unknown>>;

/** A text says what is wrong. */
export function parsedObject(text: string): Members | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `is no JSON: ${(error as Error).message}`;
  }
  return isMembers(value) ? value : 'holds no JSON object';
}

export function isNamed(value: Members): value is Members & { readonly name: string } {
  return typeof value.name === 'string' && value.name !== '';
}

/** The member at the end of the path; undefined where there is none. */
export function memberAt(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce((at, key) => (isMembers(at) && Object.hasOwn(at, key) ? at[key] : undefined), value);
}

export function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  const found = memberAt(value, ...path);
  return typeof found === 'string' && found !== '' ? found : undefined;
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
