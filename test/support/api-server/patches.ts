/** Patches of all kinds, chosen by the type of the request's body. */
import { applyMergePatch } from '../../../src/simulation/api/merge-patch.ts';
import type { AnyObject, Draft } from './context.ts';
import { applyJsonPatch, applyMerge } from './json-patch.ts';
import { badRequest, StatusError, unsupportedMediaType } from './status-error.ts';

const JSON_PATCH = 'application/json-patch+json';
const MERGE_PATCH = 'application/merge-patch+json';
export const STRATEGIC = 'application/strategic-merge-patch+json';
export const APPLY = 'application/apply-patch+yaml';

/** The object as the patch leaves it. Throws the server's answer to a patch that does not fit. */
export function patched(before: AnyObject, contentType: string, patch: unknown): Draft {
  switch (contentType) {
    case JSON_PATCH:
      if (!Array.isArray(patch))
        throw badRequest(
          `error decoding patch: ${unmarshalled(patch)} into Go value of type []handlers.jsonPatchOp`,
        );
      try {
        return applyJsonPatch(before, patch) as Draft;
      } catch {
        throw new StatusError(
          422,
          'Invalid',
          'the server rejected our request due to an error in our request',
          {},
        );
      }
    case MERGE_PATCH:
      return applyMerge(before, asTree(patch, contentType)) as Draft;
    case STRATEGIC:
      return applyMergePatch(before, asTree(patch, contentType));
    default:
      throw unsupportedMediaType();
  }
}

/** In the words of a decoder of Go. */
const unmarshalled = (value: unknown): string =>
  `json: cannot unmarshal ${Array.isArray(value) ? 'array' : typeof value}`;

function asTree(patch: unknown, contentType: string): Draft {
  if (typeof patch === 'object' && patch !== null && !Array.isArray(patch)) return patch;
  const why = `${unmarshalled(patch)} into Go value of type map[string]interface {}`;
  throw badRequest(contentType === MERGE_PATCH ? `error decoding patch: ${why}` : why);
}
