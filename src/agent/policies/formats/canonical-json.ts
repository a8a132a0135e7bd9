/** JSON values compared as the API sees them: the order of keys does not matter, and an undefined member is no member. */
import { isObject } from './json-values.ts';

/** JSON with sorted keys and without undefined members: equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) => (isJsonObject(member) ? sortKeys(member) : member));
}

function sortKeys(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Whether `canonicalJson` makes the same text of both values, without making any text. */
export function equalJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (!isObject(one) || !isObject(other) || Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = membersOf(one);
  return keys.length === membersOf(other).length && keys.every((key) => equalJson(one[key], other[key]));
}

function membersOf(value: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(value).filter((key) => value[key] !== undefined);
}

/** The object without these members. */
export function without<T extends object, Key extends keyof T>(value: T, keys: readonly Key[]): Omit<T, Key> {
  const left = Object.entries(value).filter(([key]) => !keys.includes(key as Key));
  return Object.fromEntries(left) as Omit<T, Key>;
}

/** Of the object only these members. */
export function only<T extends object, Key extends keyof T>(value: T, keys: readonly Key[]): Pick<T, Key> {
  const taken = Object.entries(value).filter(([key]) => keys.includes(key as Key));
  return Object.fromEntries(taken) as Pick<T, Key>;
}

/** Whether it is an object of JSON: neither a list nor null. */
export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && !Array.isArray(value);
}
