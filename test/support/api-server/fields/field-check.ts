/** Checks the fields of objects from clients against their types: unknown fields are dropped and named, wrong ones refused. */
import { type FieldType } from './field-types.ts';

export interface Checked {
  /** The value without unknown fields. */
  readonly value: unknown;
  /** Their paths: `spec.containers[0].wrong`. */
  readonly unknown: readonly string[];
  /** Of the first value of a wrong type, in the words of a decoder of Go. */
  readonly wrong: string | undefined;
}

interface Place {
  readonly path: string;
  /** Without the numbers of items, and after the name of the struct that has the field. */
  readonly goPath: string;
  readonly struct: string;
}

export function checked(value: unknown, type: FieldType, kind: string): Checked {
  const unknown: string[] = [];
  let wrong: string | undefined;
  const refuse = (found: unknown, { struct, goPath }: Place, wanted: string): unknown => {
    const where =
      goPath === '' ? `Go value of type ${struct}` : `Go struct field ${struct}.${goPath} of type ${wanted}`;
    wrong ??= `json: cannot unmarshal ${jsonKind(found)} into ${where}`;
    return undefined;
  };
  const walk = (one: unknown, oneType: FieldType, place: Place): unknown => {
    if (one === null || one === undefined) return one;
    switch (oneType.kind) {
      case 'scalar':
        if (oneType.of === 'bytes' && typeof one === 'string') {
          wrong ??= base64Flaw(one);
          return one;
        }
        return fits(one, oneType.of) ? one : refuse(one, place, GO_TYPES[oneType.of] ?? oneType.of);
      case 'list':
        if (!Array.isArray(one)) return refuse(one, place, `[]${goType(oneType.of)}`);
        return one.map((item: unknown, index) =>
          walk(item, oneType.of, {
            ...place,
            path: `${place.path}[${index}]`,
            struct: structOf(oneType.of, place),
          }),
        );
      case 'map':
        if (!isTree(one)) return refuse(one, place, `map[string]${goType(oneType.of)}`);
        return Object.fromEntries(
          Object.entries(one).map(([name, member]) => {
            const path = `${place.path}.${name}`;
            return [
              name,
              member === null && isText(oneType.of) ? '' : walk(member, oneType.of, { ...place, path }),
            ];
          }),
        );
      case 'object':
        if (!isTree(one)) return refuse(one, place, goType(oneType));
        return Object.fromEntries(
          Object.entries(one).flatMap(([name, member]) => {
            const path = place.path === '' ? name : `${place.path}.${name}`;
            const memberType = oneType.fields.get(name);
            if (memberType === undefined) {
              unknown.push(path);
              return [];
            }
            if (isEmpty(member, memberType) && !KEPT_EMPTY.has(name)) return [];
            const goPath = place.goPath === '' ? name : `${place.goPath}.${name}`;
            return [[name, walk(member, memberType, { path, goPath, struct: structOf(oneType, place) })]];
          }),
        );
    }
  };
  const kept = walk(value, type, { path: '', goPath: '', struct: kind });
  return { value: kept, unknown, wrong };
}

function isTree(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const isText = (type: FieldType): boolean => type.kind === 'scalar' && type.of === 'string';

/** Empty lists and maps are not served, except these. */
const KEPT_EMPTY = new Set(['rules', 'managedFields']);

function isEmpty(value: unknown, { kind }: FieldType): boolean {
  if (kind === 'list') return Array.isArray(value) && value.length === 0;
  return kind === 'map' && isTree(value) && Object.keys(value).length === 0;
}

const GO_TYPES: Readonly<Record<string, string>> = {
  boolean: 'bool',
  text: 'resource.Quantity',
  number: 'float64',
};

/** `core.v1.PodSpec` is `v1.PodSpec` in Go. */
function goType(type: FieldType): string {
  if (type.kind === 'scalar') return GO_TYPES[type.of] ?? type.of;
  if (type.kind === 'list') return `[]${goType(type.of)}`;
  if (type.kind === 'map') return `map[string]${goType(type.of)}`;
  return type.name.split('.').slice(-2).join('.');
}

function structOf(type: FieldType, { struct }: Place): string {
  if (type.kind !== 'object') return struct;
  return type.name.split(/[. ]/u).at(-1) ?? struct;
}

function fits(value: unknown, type: string): boolean {
  switch (type) {
    case 'string':
      return typeof value === 'string';
    case 'boolean':
      return typeof value === 'boolean';
    case 'int32':
    case 'int64':
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      return typeof value === 'number';
    case 'text':
      return typeof value === 'string' || typeof value === 'number';
    default:
      return true;
  }
}

/** In the words of a decoder of Go. */
function base64Flaw(text: string): string | undefined {
  const at = text.search(/[^A-Za-z0-9+/=\n\r]/u);
  const isShort = text.replaceAll(/[\n\r]/gu, '').length % 4 !== 0;
  return at < 0 && !isShort ? undefined : `illegal base64 data at input byte ${at < 0 ? text.length : at}`;
}

function jsonKind(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'object') return 'object';
  if (typeof value === 'boolean') return 'bool';
  return Number.isInteger(value) || typeof value === 'string' ? typeof value : `number ${String(value)}`;
}

/** The paths of members that an object has twice: a parser of JSON takes the last one without an error. */
export function duplicates(text: string): string[] {
  const found: string[] = [];
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gu) ?? [];
  let at = 0;
  const value = (path: string): void => {
    const token = tokens[at++];
    if (token === '{') {
      const names = new Set<string>();
      while (at < tokens.length && tokens[at] !== '}') {
        const name = JSON.parse(tokens[at] ?? '""') as string;
        at += 2;
        const below = path === '' ? name : `${path}.${name}`;
        if (names.has(name)) found.push(below);
        names.add(name);
        value(below);
        if (tokens[at] === ',') at += 1;
      }
      at += 1;
    } else if (token === '[') {
      for (let index = 0; at < tokens.length && tokens[at] !== ']'; index += 1) {
        value(`${path}[${index}]`);
        if (tokens[at] === ',') at += 1;
      }
      at += 1;
    }
  };
  value('');
  return found;
}
