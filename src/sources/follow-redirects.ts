/** Requests with headers that may be secret. */
import { StateletError } from '../types/errors.ts';

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** As many as Go's client follows, which is the kubelet's. */
const REDIRECTS_MAX = 10;

/**
 * GETs the URL, and follows redirects. The headers go to the URL's own scheme, host and port alone: after a redirect away from there the
 * requests have none.
 */
export async function fetchFollowing(url: URL, headers: Headers, signal: AbortSignal): Promise<Response> {
  let [target, sent] = [url, headers];
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects++) {
    const response = await fetch(target, { headers: sent, redirect: 'manual', signal });
    const location = response.headers.get('location') ?? '';
    if (!REDIRECTS.has(response.status) || location === '') return response;
    await response.body?.cancel();
    target = redirectTarget(location, target);
    if (target.origin !== url.origin) sent = new Headers();
  }
  throw new StateletError('FailedPrecondition', `the server redirected more than ${REDIRECTS_MAX} times`);
}

/** A password of the other server's would be sent without having been asked for. */
function redirectTarget(location: string, from: URL): URL {
  const target = URL.parse(location, from.href);
  if (target === null || !['http:', 'https:'].includes(target.protocol))
    throw new StateletError('FailedPrecondition', 'the server redirected to what is no http or https URL');
  target.username = '';
  target.password = '';
  return target;
}
