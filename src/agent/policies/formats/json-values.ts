/** What may be anything: values that were JSON, or come from others. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Undefined for a text that is no JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Empty for a value that is no text. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function unlessEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

/** Those of an object; none of any other value. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}
