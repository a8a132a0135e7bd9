/**
 * Writes `src/agent/sources/pod-schema.json`: JSON Schema of a pod, from the models of @kubernetes/client-node (fields, types,
 * which are required) and the supplement. `--check` only checks whether the file is up to date.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { SHAPES, SUPPLEMENT, type DefinitionSupplement, type Schema } from './pod-schema-supplement.ts';
import { formatted } from './formatted.ts';

interface Attribute {
  readonly name: string;
  readonly baseName: string;
  readonly type: string;
  readonly format: string;
}

type Definition = Readonly<{
  type: 'object';
  properties: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties: false;
}>;

const MODELS = new URL('../node_modules/@kubernetes/client-node/dist/gen/models/', import.meta.url);
const SCHEMA_FILE = fileURLToPath(new URL('../src/agent/sources/pod-schema.json', import.meta.url));
const PLAIN_TYPES: Readonly<Record<string, Schema>> = {
  string: { type: 'string' },
  boolean: { type: 'boolean' },
  any: {},
  Date: { $ref: '#/$defs/Time' },
  V1MicroTime: { $ref: '#/$defs/Time' },
  IntOrString: { $ref: '#/$defs/IntOrString' },
};

/** The schema of a type of the models. Classes that it refers to are added to `classes`. */
function schemaOf(type: string, form: string, classes: Set<string>): Schema {
  const item = /^Array<(.*)>$/.exec(type)?.[1];
  if (item !== undefined) return { type: 'array', items: schemaOf(item, form, classes) };
  const value = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1];
  if (value !== undefined) return { type: 'object', additionalProperties: schemaOf(value, form, classes) };
  if (type === 'number') return numberSchema(form);
  const plain = PLAIN_TYPES[type];
  if (plain) return plain;
  classes.add(type);
  return { $ref: `#/$defs/${definitionName(type)}` };
}

function numberSchema(form: string): Schema {
  if (form === 'int32') return { $ref: '#/$defs/Int32' };
  return form === 'int64' ? { $ref: '#/$defs/Int64' } : { type: 'number' };
}

function definitionName(className: string): string {
  return className.replace(/^V1/, '');
}

async function attributesOf(className: string): Promise<readonly Attribute[]> {
  const models = (await import(new URL(`${className}.js`, MODELS).href)) as Readonly<
    Record<string, { readonly attributeTypeMap: readonly Attribute[] }>
  >;
  const model = models[className];
  if (!model)
    throw new Error(`${className}.js has no class of its name: has the layout of the models changed?`);
  return model.attributeTypeMap;
}

/** Names of the properties that the declarations do not mark as optional. */
function requiredOf(className: string): ReadonlySet<string> {
  const declarations = readFileSync(new URL(`${className}.d.ts`, MODELS), 'utf8');
  return new Set([...declarations.matchAll(/^\s+'([^']+)':/gm)].map(([, name]) => name ?? ''));
}

async function definitionOf(className: string, classes: Set<string>): Promise<Definition> {
  const attributes = await attributesOf(className);
  const mandatory = requiredOf(className);
  const required = attributes.filter(({ name }) => mandatory.has(name)).map(({ baseName }) => baseName);
  const properties = Object.fromEntries(
    attributes.map(({ baseName, type, format: form }) => [baseName, schemaOf(type, form, classes)]),
  );
  return {
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

function supplemented(name: string, definition: Definition, supplement: DefinitionSupplement): Definition {
  const additions = Object.entries(supplement.properties ?? {}).map(([property, addition]) => {
    const present = definition.properties[property];
    if (!present) throw new Error(`The supplement names ${name}.${property}, which the models do not have.`);
    // A shape of our own replaces the whole property; anything else refines the schema of the models.
    return [property, '$ref' in addition || 'type' in addition ? addition : { ...present, ...addition }];
  });
  const required = [...new Set([...(definition.required ?? []), ...(supplement.required ?? [])])];
  return {
    ...definition,
    properties: { ...definition.properties, ...(Object.fromEntries(additions) as Record<string, Schema>) },
    ...(required.length > 0 && { required }),
  };
}

async function podSchema(): Promise<Schema> {
  const classes = new Set(['V1Pod']);
  const definitions: Record<string, Schema> = { ...SHAPES };
  // The set grows during the loop, so that every class is visited once.
  for (const className of classes) {
    const name = definitionName(className);
    definitions[name] = supplemented(name, await definitionOf(className, classes), SUPPLEMENT[name] ?? {});
  }
  const stray = Object.keys(SUPPLEMENT).find((name) => !(name in definitions));
  if (stray) throw new Error(`The supplement names ${stray}, which a pod does not have.`);
  const release = /OpenAPI spec version: (\S+)/.exec(readFileSync(new URL('V1Pod.js', MODELS), 'utf8'))?.[1];
  return {
    $comment: `Generated by \`npm run update:pod-schema\`, do not edit. Kubernetes OpenAPI ${release ?? 'of unknown release'}.`,
    $ref: '#/$defs/Pod',
    $defs: Object.fromEntries(Object.entries(definitions).sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

const wanted = await formatted(SCHEMA_FILE, JSON.stringify(await podSchema()));
if (process.argv.includes('--check')) {
  if (readFileSync(SCHEMA_FILE, 'utf8') !== wanted) {
    console.error('src/agent/sources/pod-schema.json is out of date: run `npm run update:pod-schema`.');
    process.exitCode = 1;
  }
} else {
  writeFileSync(SCHEMA_FILE, wanted);
}
