/** The pods of a manifest that is fetched from a URL at intervals. */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { defer, distinctUntilChanged, finalize, from, map, type Observable, repeat, tap } from 'rxjs';
import { shownURL } from '../policies/formats/secret-fields.ts';
import { errorMessage, invalid, StateletError } from '../../types/errors.ts';
import { contentToKeep, keepingProblems, type LastGoodManifests } from './manifests/last-good-manifests.ts';
import { MANIFEST_BYTES_MAX } from './manifests/manifest-limits.ts';
import { readManifestPods } from './manifests/manifest-pods.ts';
import type { ManifestPods } from './pod-of-manifest.ts';
import type { ManifestOrigin, ManifestProblem, SourceUpdate } from './source.ts';

export interface HttpSourceOptions {
  /** A user name and a password in it are sent as basic authentication, and are left out of messages. */
  readonly url: string;
  /** Sent with each request, by name: `manifestURLHeader`. */
  readonly headers?: Readonly<Record<string, readonly string[]>>;
  readonly nodeName: string;
  /** Default: `http`, that of static pods. */
  readonly source?: 'http' | 'local';
  /** The pause between two requests: `httpCheckFrequency`. */
  readonly checkFrequencyMs: number;
  /** For the whole of a request. */
  readonly timeoutMs?: number;
  /** Has pods for a server that does not answer with a good manifest when the agent starts. */
  readonly lastGood?: LastGoodManifests;
}

const TIMEOUT_MS = 10_000;

interface Answer extends Pick<ManifestPods, 'withoutSecrets'> {
  /** Of the content that came last; undefined when none came. */
  readonly digest?: string;
  readonly good?: LastGood | undefined;
  readonly problems: readonly ManifestProblem[];
  /** The content that came last is no good. */
  readonly isBroken: boolean;
}

interface LastGood extends Pick<ManifestPods, 'pods' | 'objects'> {
  /** It is the last good manifest of an earlier agent. */
  readonly restored?: true;
}

/**
 * Emits the whole source after the first request and after each change. Any answer but a good manifest is a problem, and the
 * pods stay. Never fails, never completes.
 */
export function httpSource(options: HttpSourceOptions): Observable<SourceUpdate> {
  return defer(() => {
    let last: Answer = { problems: [], isBroken: false };
    options.lastGood?.keepOnly(new Set([withoutUser(options.url)]));
    const round = defer(() => {
      const stop = new AbortController();
      return from(ask(options, last, stop.signal)).pipe(finalize(() => stop.abort()));
    });
    return round.pipe(
      tap((answer) => (last = answer)),
      repeat({ delay: options.checkFrequencyMs }),
      map((answer) => sourceUpdate(answer, options)),
      distinctUntilChanged<SourceUpdate>(isDeepStrictEqual),
    );
  });
}

function sourceUpdate(
  { good, problems }: Answer,
  { url, source = 'http', lastGood }: HttpSourceOptions,
): SourceUpdate {
  const { objects = [], ...pods } = good ?? {};
  return {
    ...pods,
    ...(objects.length > 0 && { objects: [{ file: shownURL(url), objects }] }),
    problems: [
      ...problems.map((problem) => ({ source, file: shownURL(url), ...problem })),
      ...keepingProblems(source, lastGood),
    ],
  };
}

/** Never rejects. */
async function ask(options: HttpSourceOptions, before: Answer, stop: AbortSignal): Promise<Answer> {
  const answer = await askServer(options, before, stop);
  if (answer.good) return answer;
  const content = await options.lastGood?.read(withoutUser(options.url));
  if (!content) return answer;
  const kept = await readManifestPods(content, originOf(options), stop).catch(() => undefined);
  if (!kept || kept.pods.length + kept.objects.length === 0) return answer;
  return { ...answer, good: { pods: kept.pods, objects: kept.objects, restored: true } };
}

/** Never rejects. */
async function askServer(options: HttpSourceOptions, before: Answer, stop: AbortSignal): Promise<Answer> {
  const failed = (message: string): Answer => ({
    good: before.good,
    problems: [{ message }],
    isBroken: true,
  });
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  try {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(timeoutMs)]);
    const response = await fetchFollowing(...request(options), signal);
    if (response.status !== 200) {
      await response.body?.cancel();
      return failed(`the server answered ${response.status} ${response.statusText}`.trimEnd());
    }
    const content = await bodyOf(response);
    if (!content) return failed('the answer is larger than 10 MiB');
    if (content.length === 0) return failed('the answer is empty');
    return await parsed(content, response.headers.get('content-type') ?? '', { ...options, stop }, before);
  } catch (error) {
    return failed(`cannot be fetched: ${fetchMessage(error, timeoutMs)}`);
  }
}

function request({ url, headers = {} }: HttpSourceOptions): [URL, Headers] {
  const target = new URL(url);
  const sent = new Headers();
  for (const [name, values] of Object.entries(headers)) {
    for (const value of values) appendHeader(sent, name, value);
  }
  if (target.username !== '' && !sent.has('authorization')) {
    const credentials = `${decodeURIComponent(target.username)}:${decodeURIComponent(target.password)}`;
    sent.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`);
  }
  target.username = '';
  target.password = '';
  return [target, sent];
}

/** The error of `Headers` contains the value, which may be secret: this one does not. */
function appendHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.append(name, value);
  } catch {
    throw invalid(`the header "${name}" has a name or a value that HTTP does not allow`);
  }
}

/** Undefined for a body that is too large; it is not read to its end. */
async function bodyOf(response: Response): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > MANIFEST_BYTES_MAX) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function parsed(
  content: Buffer,
  contentType: string,
  options: HttpSourceOptions & { readonly stop: AbortSignal },
  before: Answer,
): Promise<Answer> {
  const digest = createHash('sha1').update(content).digest('hex');
  const answer = digest === before.digest ? before : await read(content, options, before);
  if (!answer.isBroken) {
    options.lastGood?.keep(withoutUser(options.url), contentToKeep(content, answer), digest);
    return { ...answer, digest };
  }
  const isPage = contentType.startsWith('text/html') || content.subarray(0, 1).toString() === '<';
  const page = { message: 'the answer is a web page, not a manifest: is there a login in the way?' };
  return { ...answer, digest, ...(isPage && { problems: [page] }) };
}

async function read(
  content: Buffer,
  options: HttpSourceOptions & { readonly stop: AbortSignal },
  before: Answer,
): Promise<Answer> {
  const { pods, objects, ...rest } = await readManifestPods(content, originOf(options), options.stop);
  return { ...rest, good: rest.isBroken ? before.good : { pods, objects } };
}

function originOf({ url, source = 'http', nodeName }: HttpSourceOptions): ManifestOrigin {
  return { source, location: withoutUser(url), nodeName };
}

/** The error of `fetch` says only that it failed. Its cause says why; for a host of several addresses it lists one error for each. */
function fetchMessage(error: unknown, timeoutMs: number): string {
  const { name, cause } = error as { name?: string; cause?: { errors?: readonly unknown[] } };
  if (name === 'TimeoutError') return `no answer within ${timeoutMs / 1000} s`;
  return cause?.errors?.map(errorMessage).join(', ') ?? errorMessage(cause ?? error);
}

/** The URL without user name and password: a new password must not make new pods. */
export function withoutUser(url: string): string {
  return url.replace(/^([a-z]+:\/\/)[^/@]*@/i, '$1');
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** As many as Go's client follows, which is the kubelet's. */
const REDIRECTS_MAX = 10;

/**
 * GETs the URL, and follows redirects. The headers go to the URL's own scheme, host and port alone: after a redirect away from there the
 * requests have none.
 */
async function fetchFollowing(url: URL, headers: Headers, signal: AbortSignal): Promise<Response> {
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
