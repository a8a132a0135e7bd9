/**
 * JSON Merge Patch (RFC 7386): members of objects are merged, null removes one, and anything else, a list too, takes the place of what
 * was there.
 */
export function mergePatch(target: object, patch: object): object {
  const merged = new Map<string, unknown>(Object.entries(target));
  for (const [name, value] of Object.entries(patch) as [string, unknown][]) {
    if (value === null || value === undefined) merged.delete(name);
    else merged.set(name, isObject(value) ? mergePatch(objectOf(merged.get(name)), value) : value);
  }
  return Object.fromEntries(merged);
}

function objectOf(value: unknown): object {
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
