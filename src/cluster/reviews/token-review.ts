import type { ApiObject, ApiServer } from '../service/api-server.ts';
import type { ServerUser } from '../../types/node-settings.ts';
import { retryReview, type ReviewTiming } from './retry-review.ts';

interface TokenReview extends ApiObject {
  readonly spec: { readonly token: string };
  readonly status?: {
    readonly authenticated?: boolean;
    readonly error?: string;
    readonly user?: {
      readonly username?: string;
      readonly uid?: string;
      readonly groups?: readonly string[];
      readonly extra?: Readonly<Record<string, readonly string[]>>;
    };
  };
}

const TIMEOUT_MS = 10_000;

/** Asks the API server whose token this is. Undefined: nobody's. Rejects where it gives no answer. */
export async function reviewToken(
  api: Pick<ApiServer, 'create'>,
  token: string,
  timing: ReviewTiming,
): Promise<ServerUser | undefined> {
  const { status } = await retryReview(timing, () =>
    api.create<TokenReview>({ resource: 'tokenreviews' }, { spec: { token } }, { timeoutMs: TIMEOUT_MS }),
  );
  if (status?.authenticated !== true) return undefined;
  const { username = '', uid, groups = [], extra } = status.user ?? {};
  return { name: username, ...(uid !== undefined && { uid }), groups, ...(extra && { extra }) };
}
