/** Takes the types of the fields of objects for the double from the OpenAPI documents of a real server. */

interface Schema {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly type?: string;
  readonly format?: string;
  readonly default?: unknown;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: string;
  readonly 'x-kubernetes-group-version-kind'?: readonly Kind[];
}

interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface ApiDocument {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** By the name of a type, its fields and their types, as `FieldTypes` reads them. `''`: the type is one value as a whole. */
export type FieldTable = Record<string, Record<string, string>>;

const SCALARS: Readonly<Record<string, string>> = {
  Quantity: 'text',
  IntOrString: 'any',
  Time: 'string',
  MicroTime: 'string',
  FieldsV1: 'any',
  RawExtension: 'any',
};

/** The types of these kinds, named by API version and kind, and all types that they have. */
export function fieldTable(documents: readonly ApiDocument[], kinds: readonly Kind[]): FieldTable {
  const schemas = Object.assign({}, ...documents.map(({ components }) => components.schemas)) as Record<
    string,
    Schema
  >;
  const table: FieldTable = {};
  const add = (name: string, key = shortName(name)): void => {
    if (table[key] !== undefined) return;
    const { properties = {}, 'x-kubernetes-map-type': mapType } = schemas[name] ?? {};
    const rows: Record<string, string> = (table[key] = mapType === 'atomic' ? { '': 'atomic' } : {});
    for (const [field, schema] of Object.entries(properties)) rows[field] = typeText(schema);
  };
  const typeText = (schema: Schema): string => {
    const name = refOf(schema);
    if (name === undefined) return plainText(schema);
    const scalar = SCALARS[name.split('.').at(-1) ?? ''];
    if (scalar !== undefined) return scalar;
    const target = schemas[name] ?? {};
    if (target.properties === undefined && target.type !== 'object') return plainText(target);
    add(name);
    return schema['x-kubernetes-map-type'] === 'atomic' ? `!${shortName(name)}` : shortName(name);
  };
  const keyText = (key: string, items: Schema): string => {
    const fallback = schemas[refOf(items) ?? '']?.properties?.[key]?.default;
    return fallback === undefined || fallback === '' ? key : `${key}=${String(fallback)}`;
  };
  const plainText = (schema: Schema): string => {
    const { type, items, additionalProperties: members, 'x-kubernetes-list-type': listType } = schema;
    if (type === 'array' && items !== undefined) {
      const keys = (schema['x-kubernetes-list-map-keys'] ?? []).map((key) => keyText(key, items)).join(',');
      const list = listType === 'map' ? `[${keys}]` : listType === 'set' ? '[=]' : '[]';
      return `${list}${typeText(items)}`;
    }
    if (type === 'object')
      return members === undefined
        ? 'any'
        : `map${schema['x-kubernetes-map-type'] === 'atomic' ? '!' : ''} ${typeText(members)}`;
    if (schema.format === 'byte') return 'bytes';
    return type === 'integer' ? (schema.format ?? type) : (type ?? 'any');
  };
  for (const [name, schema] of Object.entries(schemas))
    for (const { group, version, kind } of schema['x-kubernetes-group-version-kind'] ?? [])
      if (kinds.some((one) => one.group === group && one.version === version && one.kind === kind))
        add(name, `${group === '' ? version : `${group}/${version}`} ${kind}`);
  return Object.fromEntries(Object.entries(table).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const refOf = ({ $ref, allOf }: Schema): string | undefined => ($ref ?? allOf?.[0]?.$ref)?.split('/').at(-1);

/** `io.k8s.api.core.v1.PodSpec` is `core.v1.PodSpec`. */
const shortName = (name: string): string => name.split('.').slice(-3).join('.');
