/** Removes secrets of containers from what the daemon shows: the result is plain JSON. */
import {
  announcesSecret,
  hasSecretValues,
  isCommandField,
  isSecretField,
  REDACTED,
  redactText,
  redactUrls,
} from '../policies/formats/secret-fields.ts';
import { setMember } from '../../system/set-member.ts';

/** Deeper than any pod; a deeper value is probably a cycle. */
const MAX_DEPTH = 24;
const TOO_DEEP = '[…]';

/** Annotations that contain a whole manifest, some compressed, with all its secrets. */
const APPLIED = /(?:last-applied(?:-configuration)?|\/applied|\/original)$/u;

/** A copy that can be written as JSON: maps become objects, sets lists, and errors their messages; functions are left out. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return redactUrls(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'function' || typeof value === 'symbol') return undefined;
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_DEPTH) return TOO_DEEP;
  if (value instanceof Error) return { name: value.name, message: redact(value.message) };
  if (value instanceof Map) return redact(Object.fromEntries(value), depth);
  if (value instanceof Set || Array.isArray(value))
    return Array.from(value, (item) => redact(item, depth + 1));
  if (hasToJSON(value)) return redact(value.toJSON(), depth + 1);
  return redactFields(value, depth + 1);
}

/** What the name of a field says of its value. */
type FieldKind = 'plain' | 'left out' | 'pairs' | 'command' | 'annotations' | 'secret';

/** Names of fields come from few types, but those of a map may come from anywhere. */
const KINDS_MAX = 5_000;
const kinds = new Map<string, FieldKind>();

function kindOf(name: string): FieldKind {
  let kind = kinds.get(name);
  if (kind !== undefined) return kind;
  if (APPLIED.test(name)) kind = 'left out';
  else if (hasSecretValues(name)) kind = 'pairs';
  else if (isCommandField(name)) kind = 'command';
  else if (name === 'annotations') kind = 'annotations';
  else kind = isSecretField(name) ? 'secret' : 'plain';
  if (kinds.size < KINDS_MAX) kinds.set(name, kind);
  return kind;
}

function redactFields(value: object, depth: number): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value) as [string, unknown][]) {
    const kind = kindOf(name);
    if (kind === 'left out') continue;
    const redacted = kind === 'plain' ? redact(field, depth) : redactField(kind, field, depth);
    setMember(result, name, redacted);
  }
  return result;
}

function redactField(kind: FieldKind, field: unknown, depth: number): unknown {
  if (kind === 'pairs') return Array.isArray(field) ? field.map(redactPair) : REDACTED;
  if (kind === 'command' && Array.isArray(field)) return redactCommand(field, depth);
  if (kind === 'annotations' && typeof field === 'object' && field !== null)
    return redactAnnotations(field, depth);
  const isSecret = kind === 'secret' && typeof field !== 'boolean' && field != null;
  return isSecret ? redactWhole(field) : redact(field, depth);
}

/** Typed clients must still be able to read the result: in objects and lists only the texts are replaced. */
function redactWhole(secret: unknown): unknown {
  return typeof secret === 'object' ? withoutTexts(secret, 0) : REDACTED;
}

function withoutTexts(value: unknown, depth: number): unknown {
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value;
  if (typeof value !== 'object' || depth >= MAX_DEPTH) return REDACTED;
  if (Array.isArray(value)) return value.map((item) => withoutTexts(item, depth + 1));
  const fields = Object.entries(value);
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutTexts(field, depth + 1)]));
}

function redactCommand(words: readonly unknown[], depth: number): unknown[] {
  return words.map((word, index) => {
    if (typeof word !== 'string') return redact(word, depth + 1);
    const before = words[index - 1];
    if (typeof before === 'string' && announcesSecret(before)) return REDACTED;
    return redactText(word);
  });
}

/** An annotation may contain a Kubernetes object as JSON. */
function redactAnnotations(annotations: object, depth: number): object {
  const others = redactFields(annotations, depth + 1);
  return Object.fromEntries(
    Object.entries(others).map(([name, text]: [string, unknown]) => [name, redactJson(text, depth)]),
  );
}

function redactJson(text: unknown, depth: number): unknown {
  if (typeof text !== 'string' || !/^\s*[[{]/u.test(text)) return text;
  try {
    return JSON.stringify(redact(JSON.parse(text), depth + 1));
  } catch {
    return text;
  }
}

/** `valueFrom` is left out too: it names the secret and its key. */
function redactPair(pair: unknown): unknown {
  const { name, key } = (pair ?? {}) as { name?: unknown; key?: unknown };
  return { name, key, value: REDACTED };
}

function hasToJSON(value: object): value is { toJSON(): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}
