/** Puts the errors of the schema validator into the words of Kubernetes. */
import { schema } from '../../../generated/pod-validator.js';
import { didYouMean } from '../../policies/formats/did-you-mean.ts';
import { mayBeSecret } from '../../policies/formats/secret-fields.ts';
import type { SchemaError } from '../../../types/errors.ts';
import { FieldPlaces } from './field-places.ts';
import { fieldPath } from './place.ts';
import type { ManifestProblem } from '../source.ts';

const GOT_LENGTH_MAX = 60;
/** The largest edit distance between an unknown name and a suggestion. */
const TYPO_DISTANCE_MAX = 3;
const NAME_LENGTH_MAX = 100;
const PLACES = new FieldPlaces(schema);

export function schemaProblems(errors: readonly SchemaError[]): ManifestProblem[] {
  // `propertyNames` repeats an error that is also reported for the name.
  return errors.filter(({ keyword }) => keyword !== 'propertyNames').map(schemaProblem);
}

function schemaProblem(error: SchemaError): ManifestProblem {
  const field = fieldOf(error);
  const rule = RULES[error.keyword]?.(error) ?? `keep the rule "${error.keyword}" of the schema`;
  const got = ` (got ${mayBeSecret(pathOf(error)) ? kindOf(error.data) : shown(error.data)})`;
  if (error.propertyName !== undefined) return { field, message: `the name must ${rule}` };
  const message = PLAIN[error.keyword]?.(error) ?? `must ${rule}${got}${quoteHint(error)}`;
  return { ...(field && { field }), message };
}

type Words = (error: SchemaError) => string;

/** Whole messages, by keyword of the schema. */
const PLAIN: Readonly<Record<string, Words>> = {
  required: () => 'is required',
  additionalProperties: (error) => `unknown field${suggestion(error)}`,
  minItems: ({ params }) => `must have at least ${count(params.limit)}`,
  maxItems: ({ params }) => `must have at most ${count(params.limit)}`,
};

/** Texts that follow "must", by keyword of the schema. */
const RULES: Readonly<Record<string, Words>> = {
  type: ({ params, parentSchema }) => `be ${parentSchema?.description ?? [params.type].flat().join(' or ')}`,
  enum: ({ params }) =>
    `be one of ${(params.allowedValues as unknown[]).filter(isNamed).map(shown).join(', ')}`,
  pattern: ({ params, parentSchema }) =>
    `be ${parentSchema?.description ?? `of the form ${String(params.pattern)}`}`,
  minimum: ({ params }) => `be ${withinInt64(params.limit) ?? `at least ${String(params.limit)}`}`,
  maximum: ({ params }) => `be ${withinInt64(params.limit) ?? `at most ${String(params.limit)}`}`,
};

/** The limits of 64 bits are no numbers that JavaScript could print. */
function withinInt64(limit: unknown): string | undefined {
  return Number.isSafeInteger(limit) ? undefined : 'an integer of 64 bits';
}

/** An empty text means not set; it is not listed as a choice. */
function isNamed(value: unknown): boolean {
  return value !== '';
}

function count(limit: unknown): string {
  return limit === 1 ? '1 item' : `${String(limit)} items`;
}

/** YAML reads 8080 as a number and `on` as a boolean. A text without quotes is the most frequent mistake. */
function quoteHint({ keyword, params, data }: SchemaError): string {
  const scalar = typeof data === 'number' || typeof data === 'boolean';
  return keyword === 'type' && params.type === 'string' && scalar ? '; put it in quotes' : '';
}

/** The value as JSON, cut short. Objects and lists are not shown: they may contain secrets. */
export function shown(value: unknown): string {
  if (typeof value === 'object' && value !== null) return kindOf(value);
  const isInfinite = typeof value === 'number' && !Number.isFinite(value);
  const text = isInfinite ? String(value) : JSON.stringify(value);
  return text.length > GOT_LENGTH_MAX ? `${text.slice(0, GOT_LENGTH_MAX)}…` : text;
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  boolean: 'a boolean',
  object: 'an object',
};

export function kindOf(value: unknown): string {
  return Array.isArray(value) ? 'a list' : (KINDS[typeof value] ?? 'nothing');
}

function pathOf({ instancePath }: SchemaError): readonly string[] {
  const parts = instancePath.split('/').slice(1);
  return parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function fieldOf(error: SchemaError): string {
  const { params, propertyName } = error;
  const member = propertyName ?? params.additionalProperty ?? params.missingProperty;
  const names = pathOf(error);
  return fieldPath(typeof member === 'string' ? [...names, member] : names);
}

/** The name that was meant, or else the object that the field belongs to. */
function suggestion(error: SchemaError): string {
  const { params, parentSchema, data } = error;
  const name = String(params.additionalProperty);
  if (name.length > NAME_LENGTH_MAX) return '';
  const known = Object.keys(parentSchema?.properties ?? {});
  const similar = didYouMean(name, known, () => Math.min(TYPO_DISTANCE_MAX, Math.ceil(name.length / 3)));
  return similar === '' ? PLACES.hint(pathOf(error), name, data ?? {}) : similar;
}
