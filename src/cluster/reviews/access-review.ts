import type { ApiObject, ApiServer } from '../service/api-server.ts';
import type { RequestAttributes } from '../../policies/server/request-attributes.ts';
import type { ServerUser } from '../../types/node-settings.ts';
import { retryReview, type ReviewTiming } from './retry-review.ts';

interface SubjectAccessReview extends ApiObject {
  readonly spec: {
    readonly resourceAttributes: RequestAttributes;
    readonly user: string;
    readonly uid?: string;
    readonly groups: readonly string[];
    readonly extra?: Readonly<Record<string, readonly string[]>>;
  };
  readonly status?: { readonly allowed?: boolean };
}

const TIMEOUT_MS = 10_000;

/** Asks the API server whether that user may do this. Rejects where it gives no answer. */
export async function reviewAccess(
  api: Pick<ApiServer, 'create'>,
  { name, ...others }: ServerUser,
  attributes: RequestAttributes,
  timing: ReviewTiming,
): Promise<boolean> {
  const review = { spec: { resourceAttributes: attributes, user: name, ...others } };
  const { status } = await retryReview(timing, () =>
    api.create<SubjectAccessReview>({ resource: 'subjectaccessreviews' }, review, { timeoutMs: TIMEOUT_MS }),
  );
  return status?.allowed === true;
}
