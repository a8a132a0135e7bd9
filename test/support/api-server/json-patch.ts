/** The kinds of patches that are not of Kubernetes: JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7396). */
import { equalJson } from '../../../src/agent/policies/formats/canonical-json.ts';
import { setMember } from '../../../src/system/set-member.ts';

type Tree = Record<string, unknown>;

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

const OPERATIONS_MAX = 10_000;

/** Throws an error whose message says why the patch does not fit. */
export function applyJsonPatch(original: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw new Error('a JSON patch is a list of operations');
  if (patch.length > OPERATIONS_MAX)
    throw new Error(
      `The allowed maximum operations in a JSON patch is ${OPERATIONS_MAX}, got ${patch.length}`,
    );
  let document: unknown = structuredClone(original);
  for (const operation of patch as Operation[]) document = applied(document, operation);
  return document;
}

function applied(document: unknown, { op, path, from = '', value }: Operation): unknown {
  switch (op) {
    case 'add':
      return put(document, path, structuredClone(value), 'add');
    case 'replace':
      return put(document, path, structuredClone(value), 'replace');
    case 'remove':
      return removed(document, path);
    case 'copy':
      return put(document, path, structuredClone(copiedFrom(document, from)), 'add');
    case 'move': {
      const moved = valueAt(document, from);
      return put(removed(document, from), path, moved, 'add');
    }
    case 'test':
      if (!equalJson(valueAt(document, path) ?? null, value ?? null))
        throw new Error(`testing value ${path} failed: test failed`);
      return document;
    default:
      throw new Error(`Unexpected kind: ${op}`);
  }
}

const keysOf = (path: string): string[] =>
  path
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));

function valueAt(document: unknown, path: string): unknown {
  return keysOf(path).reduce((value, key) => memberOf(value, key, path), document);
}

/** A missing value is copied as null. */
function copiedFrom(document: unknown, from: string): unknown {
  const keys = keysOf(from);
  const last = keys.pop() ?? '';
  const parent = keys.reduce((value, key) => memberOf(value, key, from), document);
  return isTree(parent) && !Object.hasOwn(parent, last) ? null : memberOf(parent, last, from);
}

function memberOf(value: unknown, key: string, path: string): unknown {
  const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
  if (!isThere) throw new Error(`${path}: missing path: missing value`);
  return (value as Tree)[key];
}

function put(document: unknown, path: string, value: unknown, op: 'add' | 'replace'): unknown {
  const keys = keysOf(path);
  const last = keys.pop();
  if (last === undefined) return value;
  const parent = keys.reduce((tree, key) => memberOf(tree, key, path), document);
  if (op === 'replace') memberOf(parent, last, path);
  if (Array.isArray(parent)) {
    const index = last === '-' ? parent.length : Number(last);
    if (!Number.isInteger(index) || index < 0 || index > parent.length)
      throw new Error(`${path}: invalid index referenced`);
    parent.splice(index, op === 'replace' ? 1 : 0, value);
  } else if (typeof parent === 'object' && parent !== null) setMember(parent as Tree, last, value);
  else throw new Error(`${path}: missing path: missing value`);
  return document;
}

function removed(document: unknown, path: string): unknown {
  const keys = keysOf(path);
  const last = keys.pop() ?? '';
  const parent = keys.reduce((tree, key) => memberOf(tree, key, path), document);
  memberOf(parent, last, path);
  if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else Reflect.deleteProperty(parent as Tree, last);
  return document;
}

export function applyMerge(original: unknown, patch: unknown): unknown {
  if (!isTree(patch)) return patch;
  const merged = new Map(Object.entries(isTree(original) ? original : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, applyMerge(merged.get(key), value));
  }
  return Object.fromEntries(merged);
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
