/** Reads a KubeletConfiguration from a file. It imports yaml, so it is loaded only when a file is given. */
import { dirname, resolve } from 'node:path';
import { type Document, LineCounter, parseDocument, visit } from 'yaml';
import { validate } from '../../generated/configuration-validator.js';
import { isJsonObject } from '../policies/formats/canonical-json.ts';
import { didYouMean } from '../policies/formats/did-you-mean.ts';
import { parseDuration } from '../policies/formats/duration.ts';
import { asInt64 } from '../policies/formats/go-text.ts';
import { NotPlainError, readProvidedFile } from '../../system/files/foreign-file.ts';
import { START_DEADLINE_MS } from '../../system/files/patient-calls.ts';
import { errorMessage, type SchemaError, StateletError } from '../../types/errors.ts';
import { CONFIGURATION_DEFAULTS, ZERO_MEANS_NOT_GIVEN } from './configuration-defaults.ts';
import {
  API_VERSION,
  FORMATS,
  KIND,
  KUBELET_CONFIGURATION_SCHEMA,
  type KubeletConfiguration,
  type Schema,
  SUPPORTED_FIELDS,
} from './kubelet-configuration.ts';
import { memberOf } from './setting.ts';

export interface LoadedConfiguration {
  readonly file: string;
  readonly configuration: KubeletConfiguration;
  /** Sentences for the log, about known fields that have no effect or only a part of it. */
  readonly warnings: readonly string[];
}

/** Relative paths in the file are relative to its folder. Rejects with `InvalidArgument`; the message names file and field. */
export async function loadConfiguration(file: string): Promise<LoadedConfiguration> {
  const { patch, warnings } = await loadPatch(file, '--config');
  return { file, configuration: withoutNulls(patch), warnings };
}

export interface LoadedPatch {
  /** Null stands for a field that is not to be set. */
  readonly patch: object;
  readonly warnings: readonly string[];
}

/** As `loadConfiguration`, of a file that may also say which fields are not to be set. */
export async function loadPatch(file: string, flag = '--config-dir'): Promise<LoadedPatch> {
  return checkedPatch(file, parse(file, await read(file, flag)));
}

/** Checks a patch that was read elsewhere. Throws `InvalidArgument`; the message names `file` and field. */
export function checkedPatch(file: string, patch: object): LoadedPatch {
  const document = withoutNulls(patch);
  checkIdentity(file, document);
  checkFields(file, document);
  return { patch: resolvePaths(file, patch), warnings: unsupported(file, document) };
}

function invalid(file: string, ...problems: string[]): StateletError {
  return new StateletError('InvalidArgument', problems.map((problem) => `${file}: ${problem}`).join('\n'));
}

const READ_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file; check the path given with ',
  EACCES: 'may not be read by this user',
};

async function read(file: string, flag: string): Promise<string> {
  try {
    return await readProvidedFile(file, { deadlineMs: START_DEADLINE_MS });
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const hint = error instanceof NotPlainError ? `; ${flag} reads files` : code === 'ENOENT' ? flag : '';
    throw invalid(file, `${READ_ERRORS[code] ?? errorMessage(error)}${hint}`);
  }
}

/** Reads YAML 1.1 as the kubelet does (`yes` is true). JSON is YAML too. */
function parse(file: string, content: string): object {
  const lineCounter = new LineCounter();
  const document = parseDocument(content, { version: '1.1', lineCounter, prettyErrors: false });
  const [error] = document.errors;
  if (error?.code === 'MULTIPLE_DOCS') throw invalid(file, 'holds several documents, and only one is read');
  if (error !== undefined) {
    const { line, col } = lineCounter.linePos(error.pos[0]);
    throw invalid(`${file}:${line}:${col}`, `is neither YAML nor JSON: ${error.message}`);
  }
  const value = toJS(file, document);
  if (isJsonObject(value)) return value;
  throw invalid(file, `must hold an object of apiVersion ${API_VERSION} and kind ${KIND}`);
}

/** Resolves aliases; throws for an unknown alias, and for aliases that expand to too much. */
function toJS(file: string, document: Document): unknown {
  visit(document, {
    Scalar: (_key, scalar) => {
      if (typeof scalar.value === 'number') scalar.value = asInt64(scalar.value, scalar.source);
    },
  });
  try {
    return document.toJS();
  } catch (error) {
    throw invalid(file, errorMessage(error));
  }
}

/** As with the kubelet, null means not given. */
function withoutNulls(value: object): Record<string, unknown> {
  const given = Object.entries(value).filter(([, item]) => item !== null && item !== undefined);
  return Object.fromEntries(
    given.map(([key, item]: [string, unknown]) => [key, isJsonObject(item) ? withoutNulls(item) : item]),
  );
}

function checkIdentity(file: string, { apiVersion, kind }: Record<string, unknown>): void {
  const problems = [
    ...(apiVersion === API_VERSION ? [] : [`apiVersion: must be "${API_VERSION}" (${got(apiVersion)})`]),
    ...(kind === KIND ? [] : [`kind: must be "${KIND}" (${got(kind)})`]),
  ];
  if (problems.length > 0) throw invalid(file, ...problems);
}

function checkFields(file: string, document: Record<string, unknown>): void {
  const errors = [
    ...(validate(document) ? [] : (validate.errors ?? [])),
    ...formatErrors(KUBELET_CONFIGURATION_SCHEMA, document, ''),
  ];
  if (errors.length > 0) throw invalid(file, ...new Set(errors.map(problemOf)));
  const refused = refusedValues(document);
  if (refused.length > 0) throw invalid(file, ...refused);
}

/** Texts that do not have the format of their field. The schema validation reports values that are no texts. */
function* formatErrors(schema: Schema, data: unknown, instancePath: string): Generator<SchemaError> {
  const { format, properties = {}, items, additionalProperties } = schema;
  if (typeof data === 'string') {
    if (format !== undefined && !FORMATS[format](data)) {
      yield { instancePath, keyword: 'format', params: {}, parentSchema: schema, data };
    }
    return;
  }
  if (typeof data !== 'object' || data === null) return;
  for (const [name, member] of Object.entries(data)) {
    const others = additionalProperties === false ? undefined : additionalProperties;
    const inner = Array.isArray(data) ? items : (properties[name] ?? others);
    if (inner !== undefined) yield* formatErrors(inner, member, `${instancePath}/${escapePointer(name)}`);
  }
}

function problemOf({ instancePath, keyword, params, parentSchema, data }: SchemaError): string {
  const path = instancePath.split('/').slice(1).map(unescapePointer);
  const schema = parentSchema as Schema;
  if (keyword !== 'additionalProperties')
    return `${path.join('.')}: must be ${schema.description}${isSecret(path) ? '' : ` (${got(data)})`}`;
  const { additionalProperty: name } = params as { additionalProperty: string };
  const hint = didYouMean(name, Object.keys(schema.properties ?? {}));
  return `${[...path, name].join('.')}: is not a field of ${KIND} ${API_VERSION}${hint}`;
}

/** A URL may contain a password, and a header a token. */
function isSecret([field]: readonly string[]): boolean {
  return field === 'staticPodURL' || field === 'staticPodURLHeader';
}

function escapePointer(segment: string): string {
  return segment.replaceAll('~', '~0').replaceAll('/', '~1');
}

function unescapePointer(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~');
}

function got(value: unknown): string {
  if (value === undefined) return 'it is missing';
  const shown = JSON.stringify(value);
  return `got ${shown.length > 60 ? `${shown.slice(0, 57)}...` : shown}`;
}

function unsupported(file: string, document: Record<string, unknown>): string[] {
  const fields = unsupportedFields(document);
  if (fields.length === 0) return [];
  return [`${file}: known, but without effect here: ${fields.join(', ')}`];
}

function unsupportedFields(given: Record<string, unknown>, prefix = ''): string[] {
  return Object.entries(given).flatMap(([name, value]) => {
    const path = prefix + name;
    if (SUPPORTED_FIELDS.includes(path)) return [];
    const partly = SUPPORTED_FIELDS.some((field) => field.startsWith(`${path}.`));
    if (partly && isJsonObject(value)) return unsupportedFields(value, `${path}.`);
    return isFieldDefault(path, value) ? [] : [path];
  });
}

/** With dots where the field is in an object. */
const PATHS = [
  'staticPodPath',
  'podLogsDir',
  'resolvConf',
  'tlsCertFile',
  'tlsPrivateKeyFile',
  'authentication.x509.clientCAFile',
  'evictionPlugins.registryDir',
  'evictionPlugins.taintsKubeconfig',
  'evictionPlugins.usersFile',
  'evictionPlugins.noticesDir',
];

function resolvePaths(file: string, configuration: object): object {
  const folder = dirname(file);
  return PATHS.reduce((whole, field) => withPath(whole, field.split('.'), folder), configuration);
}

function withPath(whole: object, [name = '', ...rest]: readonly string[], folder: string): object {
  const value = (whole as Record<string, unknown>)[name];
  if (rest.length > 0)
    return isJsonObject(value) ? { ...whole, [name]: withPath(value, rest, folder) } : whole;
  return typeof value === 'string' && value !== '' ? { ...whole, [name]: resolve(folder, value) } : whole;
}

/** `path` has dots where the field is in an object. */
export function isFieldDefault(path: string, value: unknown): boolean {
  const byDefault = memberOf(CONFIGURATION_DEFAULTS, path);
  const isUnset = ZERO_MEANS_NOT_GIVEN.has(path) && (value === 0 || value === false);
  return isUnset || isSame(value, byDefault);
}

/** As with the kubelet, an empty text and a duration of 0 are not given, and an object may have members of the default alone. */
function isSame(value: unknown, byDefault: unknown): boolean {
  if (typeof value === 'string') {
    const ms = parseDuration(value);
    return (
      value === '' || value === byDefault || ms === 0 || (ms !== undefined && ms === durationOf(byDefault))
    );
  }
  if (Array.isArray(value)) return JSON.stringify(value) === JSON.stringify(byDefault ?? []);
  if (typeof value === 'object' && value !== null) {
    const others = (byDefault ?? {}) as Record<string, unknown>;
    return Object.entries(value).every(([name, member]) => isSame(member, others[name]));
  }
  if (value === 0) return byDefault === undefined || byDefault === 0 || durationOf(byDefault) !== undefined;
  return value === (byDefault ?? false);
}

function durationOf(value: unknown): number | undefined {
  return typeof value === 'string' ? parseDuration(value) : undefined;
}

/** Values of KubeletConfiguration that ask for a part of the kubelet which is not here: pods would not get what these values promise. */
const ONLY: Readonly<Record<string, readonly [value: string | boolean, what: string]>> = {
  runOnce: [false, 'daemon that ends when its pods run, but the command "statelet run-once"'],
};

/** One sentence for each field, to come after the name of the file. An empty text stands for the default. */
export function refusedValues(document: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(ONLY).flatMap(([field, [value, what]]) => {
    const given = document[field];
    if (given === undefined || given === '' || given === value) return [];
    return [`${field}: must be ${JSON.stringify(value)}: there is no ${what} (got ${JSON.stringify(given)})`];
  });
}
