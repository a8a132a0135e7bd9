/**
 * Compiles `src/sources/pod-schema.json` into `src/generated/pod-validator.js`, a module without imports: compiling at
 * start-up would cost about 200 ms, loading the result costs 10.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import standalone from 'ajv/dist/standalone/index.js';

const SCHEMA = new URL('../src/sources/pod-schema.json', import.meta.url);
const GENERATED = new URL('../src/generated/', import.meta.url);
const NOTICE = '// Generated from src/sources/pod-schema.json by the build. Do not edit.\n';
const DECLARATIONS = `${NOTICE}
/** What ajv reports, with the part of the schema and the value concerned. */
export interface SchemaError {
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** Set where the name of a member, not its value, is wrong. */
  readonly propertyName?: string;
  readonly parentSchema?: { readonly properties?: object; readonly description?: string };
  readonly data?: unknown;
}

export declare const validate: {
  (data: unknown): boolean;
  errors?: readonly SchemaError[] | null;
};
`;

/** Writes the validator and its declarations. `tsc` does not carry the former to `dist`: who builds copies it. */
export function generatePodValidator(): void {
  const ajv = new Ajv2020({
    allErrors: true,
    // The messages are ours: they need the schema and the value that an error is about.
    verbose: true,
    messages: false,
    allowUnionTypes: true,
    strictTypes: false,
    code: { source: true, esm: true },
  });
  const code = standalone.default(ajv, ajv.compile(JSON.parse(readFileSync(SCHEMA, 'utf8')) as object));
  if (/\brequire\(/.test(code))
    throw new Error('The validator would need ajv at run time: a keyword is in the way.');
  mkdirSync(GENERATED, { recursive: true });
  writeFileSync(new URL('pod-validator.js', GENERATED), NOTICE + code);
  writeFileSync(new URL('pod-validator.d.ts', GENERATED), DECLARATIONS);
}

if (import.meta.main) generatePodValidator();
