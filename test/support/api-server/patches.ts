/** Patches of all kinds, chosen by the type of the request's body. */
import { applyMergePatch } from '../../../src/simulation/api/merge-patch.ts';
import { equalJson } from '../../../src/policies/formats/canonical-json.ts';
import { without } from '../../../src/policies/formats/members.ts';
import type { AnyObject, Draft } from './context.ts';
import { applyJsonPatch, applyMerge } from './json-patch.ts';
import { badRequest, StatusError, unsupportedMediaType } from './status-error.ts';

const JSON_PATCH = 'application/json-patch+json';
const MERGE_PATCH = 'application/merge-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';
export const APPLY = 'application/apply-patch+yaml';

/** The object as the patch leaves it. Throws what the server answers to a patch that does not fit. */
export function patched(before: AnyObject, contentType: string, patch: unknown): Draft {
  switch (contentType) {
    case JSON_PATCH:
      try {
        return applyJsonPatch(before, patch) as Draft;
      } catch (error) {
        throw new StatusError(
          422,
          'Invalid',
          `the server rejected our request due to an error in our request: ${(error as Error).message}`,
          {},
        );
      }
    case MERGE_PATCH:
      return applyMerge(before, asTree(patch)) as Draft;
    case STRATEGIC:
      return applyMergePatch(before, asTree(patch));
    default:
      throw unsupportedMediaType();
  }
}

function asTree(patch: unknown): Draft {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch))
    throw badRequest('json: cannot unmarshal the patch into a Go value of type map[string]interface {}');
  return patch;
}

/** What a manager has applied before, as the server remembers it. */
interface Applied {
  readonly manager: string;
  readonly operation: 'Apply';
  readonly apiVersion: string;
  readonly time: string;
  readonly fieldsType: 'FieldsV1';
  readonly fieldsV1: Draft;
}

export interface ApplyOptions {
  readonly manager: string;
  readonly force: boolean;
  readonly at: string;
}

/** Fields that the manager has applied before and does not name any more are gone; fields of another manager are a conflict. */
export function applied(
  before: AnyObject | undefined,
  sent: Draft,
  { manager, force, at }: ApplyOptions,
): Draft {
  const metadata = without((sent.metadata ?? {}) as Draft, ['managedFields']);
  const wish: Draft = { ...sent, metadata };
  const managers = ((before?.metadata as Draft | undefined)?.managedFields ?? []) as Applied[];
  const fields = fieldsOf(wish);
  const others = managers.filter((one) => one.manager !== manager);
  if (!force) refuseConflicts(before, wish, others);
  const formerly = managers.find((one) => one.manager === manager)?.fieldsV1 ?? {};
  const kept = before === undefined ? {} : withoutFields(before, formerly, fields);
  const after = applyMergePatch(kept, wish) as Draft;
  const entry: Applied = {
    manager,
    operation: 'Apply',
    apiVersion: String(sent.apiVersion),
    time: at,
    fieldsType: 'FieldsV1',
    fieldsV1: fields,
  };
  return { ...after, metadata: { ...after.metadata, managedFields: [...others, entry] } };
}

const NOT_MANAGED = new Set(['apiVersion', 'kind']);

/** The members that are set, without their values. Lists are fields as a whole. */
function fieldsOf(value: Draft, depth = 0): Draft {
  const fields: Draft = {};
  for (const [name, member] of Object.entries(value)) {
    if (depth === 0 && NOT_MANAGED.has(name)) continue;
    if (name === 'name' && depth === 1) continue;
    fields[`f:${name}`] = isTree(member) ? fieldsOf(member, depth + 1) : {};
  }
  return fields;
}

function refuseConflicts(before: AnyObject | undefined, wish: Draft, others: readonly Applied[]): void {
  if (before === undefined) return;
  for (const { manager, fieldsV1 } of others) {
    const field = conflicting(before, wish, fieldsV1, '');
    if (field === undefined) continue;
    const message = `conflict with "${manager}": ${field}`;
    const causes = [{ reason: 'FieldManagerConflict', message: `conflict with "${manager}"`, field }];
    throw new StatusError(409, 'Conflict', `Apply failed with 1 conflict: ${message}`, { causes });
  }
}

function conflicting(before: Draft, wish: Draft, owned: Draft, path: string): string | undefined {
  for (const [key, fields] of Object.entries(owned) as [string, Draft][]) {
    const name = key.slice(2);
    const [mine, theirs] = [wish[name], before[name]];
    if (mine === undefined || equalJson(mine, theirs ?? null)) continue;
    const isDeeper = isTree(mine) && isTree(theirs) && Object.keys(fields).length > 0;
    if (!isDeeper) return `${path}.${name}`;
    const found = conflicting(theirs, mine, fields, `${path}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function withoutFields(value: Draft, formerly: Draft, now: Draft): Draft {
  const kept: Draft = { ...value };
  for (const [key, fields] of Object.entries(formerly) as [string, Draft][]) {
    const name = key.slice(2);
    const member: unknown = kept[name];
    if (isTree(member) && Object.keys(fields).length > 0)
      kept[name] = withoutFields(member, fields, now[key] ?? {});
    else if (now[key] === undefined) Reflect.deleteProperty(kept, name);
  }
  return kept;
}

function isTree(value: unknown): value is Draft {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
