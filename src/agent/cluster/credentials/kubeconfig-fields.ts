/** Reads fields of a kubeconfig by their type. A field that is empty counts as missing, as in the kubelet. */
import { StateletError } from '../../../types/errors.ts';

/** An object of the file, and where it stands in it. */
export interface Fields {
  readonly values: Readonly<Record<string, unknown>>;
  readonly where: string;
}

export function fieldsOf(value: unknown, where: string): Fields {
  if (value === undefined || value === null) return { values: {}, where };
  if (typeof value !== 'object' || Array.isArray(value)) throw notOfType(where, 'an object');
  return { values: value as Readonly<Record<string, unknown>>, where };
}

export function textOf({ values, where }: Fields, key: string): string | undefined {
  const value = values[key];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') throw notOfType(`${where}.${key}`, 'a text: put it in quotation marks');
  return value;
}

export function flagOf({ values, where }: Fields, key: string): boolean | undefined {
  const value = values[key] ?? undefined;
  if (value === undefined || typeof value === 'boolean') return value;
  throw notOfType(`${where}.${key}`, 'true or false');
}

export function textsOf({ values, where }: Fields, key: string): readonly string[] {
  const value = values[key] ?? [];
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  throw notOfType(`${where}.${key}`, 'a list of texts');
}

function notOfType(field: string, type: string): StateletError {
  return new StateletError('InvalidArgument', `${field} must be ${type}`);
}
