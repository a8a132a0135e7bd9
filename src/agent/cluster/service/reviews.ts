import type { RequestAttributes } from '../../policies/server/request-attributes.ts';
import { sleep } from '../../../system/timer.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorKind } from '../../../types/errors.ts';
import type { ServerUser } from '../../../types/node-settings.ts';
import type { ApiObject, ApiServer } from './api-server.ts';

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

/** Asks the API server whose token this is. Undefined: the token is not valid. Rejects where the server gives no answer. */
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
  return { name: username, uid, groups, extra };
}

const ATTEMPTS = 5;

const FIRST_DELAY_MS = 500;

const FACTOR = 1.5;

const JITTER = 0.2;

/** Kinds of errors that another attempt may mend. */
const PASSING = new Set(['Unavailable', 'DeadlineExceeded', 'Internal', 'ResourceExhausted']);

interface ReviewTiming extends Pick<AgentContext, 'clock' | 'random'> {
  /** Ends the wait for another attempt. */
  readonly signal: AbortSignal;
}

/** Asks again where the API server could not answer, as the kubelet does. Rejects with the error of the last attempt. */
async function retryReview<T>({ clock, random, signal }: ReviewTiming, ask: () => Promise<T>): Promise<T> {
  let delayMs = FIRST_DELAY_MS;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      if (attempt === ATTEMPTS || !PASSING.has(errorKind(error))) throw error;
    }
    await sleep(clock, delayMs * (1 + random() * JITTER), signal);
    delayMs *= FACTOR;
  }
}

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

/** Asks the API server whether that user may do this. Rejects where the server gives no answer. */
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
