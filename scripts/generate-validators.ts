/**
 * Compiles schemas into modules of `src/generated` that need no library. To load them takes 10 ms; to compile the schema of pods
 * at start-up would take 0.2 s, and ajv 8 MB.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import standalone from 'ajv/dist/standalone/index.js';
import { KUBELET_CONFIGURATION_SCHEMA } from '../src/agent/config/kubelet-configuration.ts';
import { isStale } from './is-stale.ts';

const POD_SCHEMA = new URL('../src/agent/sources/pod-schema.json', import.meta.url);
/** What the schemas come from. */
const SOURCES = [POD_SCHEMA, new URL('../src/agent/config', import.meta.url), new URL(import.meta.url)];
const GENERATED = new URL('../src/generated/', import.meta.url);

export function generateStaleValidators(): void {
  const target = fileURLToPath(new URL('configuration-validator.js', GENERATED));
  if (
    isStale(
      target,
      SOURCES.map((source) => fileURLToPath(source)),
    )
  )
    generateValidators();
}

/** Writes the validators and their declarations. */
export function generateValidators(): void {
  mkdirSync(GENERATED, { recursive: true });
  const podSchema = JSON.parse(readFileSync(POD_SCHEMA, 'utf8')) as object;
  generate('pod-validator', podSchema, 'src/agent/sources/pod-schema.json');
  generate(
    'configuration-validator',
    KUBELET_CONFIGURATION_SCHEMA,
    'src/agent/config/kubelet-configuration.ts',
  );
}

function generate(name: string, schema: object, source: string): void {
  const notice = `// Generated from ${source} by the build. Do not edit.\n`;
  const ajv = new Ajv2020({
    allErrors: true,
    // The messages are ours: they need the schema and the value that an error is about.
    verbose: true,
    messages: false,
    allowUnionTypes: true,
    strictTypes: false,
    // Formats are code, which a module without imports cannot contain: the validating code checks them.
    validateFormats: false,
    code: { source: true, esm: true },
  });
  const code = standalone.default(ajv, ajv.compile(schema));
  if (/\brequire\(/.test(code))
    throw new Error(`${name} would need ajv at run time: a keyword is in the way.`);
  const [, root] = /const (schema\d+) = \{/.exec(code) ?? [];
  if (root === undefined) throw new Error(`${name} has no schema.`);
  writeFileSync(new URL(`${name}.js`, GENERATED), `${notice}${code}\nexport { ${root} as schema };\n`);
  writeFileSync(new URL(`${name}.d.ts`, GENERATED), notice + DECLARATIONS);
}

const DECLARATIONS = `import type { Schema, SchemaError } from '../types/errors.ts';

/** The schema, with its definitions. */
export declare const schema: Schema;

export declare const validate: {
  (data: unknown): boolean;
  errors?: readonly SchemaError[] | null;
};
`;

if (import.meta.main) generateValidators();
