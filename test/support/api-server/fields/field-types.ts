/** The types of the fields of all objects that the double serves, from a real server's OpenAPI. */
import { readTable } from '../read-table.ts';
import type { ServedType } from '../served-types.ts';
import type { FieldTable } from './field-table.ts';

export type FieldType =
  /** `any`: with any members. */
  | { readonly kind: 'scalar'; readonly of: string }
  /** Members with names. `atomic`: it has one owner as a whole. */
  | {
      readonly kind: 'object';
      /** `core.v1.PodSpec`. */
      readonly name: string;
      readonly atomic: boolean;
      readonly fields: ReadonlyMap<string, FieldType>;
    }
  /** Members of any name. */
  | { readonly kind: 'map'; readonly atomic: boolean; readonly of: FieldType }
  /** `keys`: which members tell items apart; empty: the items themselves do. Undefined: the list is one value as a whole. */
  | { readonly kind: 'list'; readonly keys: readonly Key[] | undefined; readonly of: FieldType };

export interface Key {
  readonly name: string;
  /** The value for items that do not have it. */
  readonly fallback: string | undefined;
}

export const ANY: FieldType = { kind: 'scalar', of: 'any' };

let table: FieldTable | undefined;
const types = new Map<string, FieldType>();

/** Of objects of that kind. */
export function objectType({ group, version, kind }: ServedType): FieldType {
  return named(`${group === '' ? version : `${group}/${version}`} ${kind}`);
}

function named(name: string): FieldType {
  const known = types.get(name);
  if (known !== undefined) return known;
  table ??= readTable('fields/object-fields.json') as FieldTable;
  const rows = table[name];
  if (rows === undefined) return ANY;
  const fields = new LazyFields(rows);
  const type: FieldType = { kind: 'object', name, atomic: rows[''] === 'atomic', fields };
  types.set(name, type);
  return type;
}

/** Types refer to each other in circles, so that each is read when it is first asked for. */
class LazyFields extends Map<string, FieldType> {
  readonly #rows: Readonly<Record<string, string>>;

  constructor(rows: Readonly<Record<string, string>>) {
    super();
    this.#rows = rows;
  }

  override get(name: string): FieldType | undefined {
    const known = super.get(name);
    if (known !== undefined || name === '' || !Object.hasOwn(this.#rows, name)) return known;
    const type = parsed(this.#rows[name] ?? '');
    this.set(name, type);
    return type;
  }
}

/** `string`, `core.v1.PodSpec`, `!core.v1.X` (one owner), `map string`, `map! string` (one owner), `[]string` (one owner), `[=]string`, `[name]core.v1.X`. */
function parsed(text: string): FieldType {
  const [, keys, item = ''] = /^\[([^\]]*)\](.*)$/u.exec(text) ?? [];
  if (keys !== undefined) {
    const named = keys.split(',').map((key) => {
      const [name = '', fallback] = key.split('=');
      return { name, fallback };
    });
    return { kind: 'list', keys: keys === '' ? undefined : keys === '=' ? [] : named, of: parsed(item) };
  }
  const [, mark, member = ''] = /^map(!?) (.*)$/u.exec(text) ?? [];
  if (mark !== undefined) return { kind: 'map', atomic: mark !== '', of: parsed(member) };
  if (text.startsWith('!')) {
    const type = named(text.slice(1));
    return type.kind === 'object' ? { ...type, atomic: true } : type;
  }
  return text.includes('.') ? named(text) : { kind: 'scalar', of: text };
}
