/** Pods of a manifest that is fetched from a URL at intervals. */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { defer, distinctUntilChanged, finalize, from, map, repeat, tap, type Observable } from 'rxjs';
import { shownURL } from '../policies/shown-url.ts';
import { errorMessage, StateletError } from '../types/errors.ts';
import type { Pod } from '../types/kubernetes.ts';
import { MANIFEST_BYTES_MAX, parseManifest } from './manifest.ts';
import type { ManifestProblem, SourceUpdate } from './source.ts';
import { staticPod } from './static-pod.ts';

export interface HttpSourceOptions {
  /** A user name and a password in it are sent as the server expects them, and shown nowhere. */
  readonly url: string;
  /** Sent with each request, by name: `manifestURLHeader`. */
  readonly headers?: Readonly<Record<string, readonly string[]>>;
  readonly nodeName: string;
  /** From the end of one request to the beginning of the next: `httpCheckFrequency`. */
  readonly checkFrequencyMs: number;
  /** For the whole of a request. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 10_000;

interface Answer {
  /** Of the content that `pods` or `problems` are about; undefined when none came. */
  readonly digest?: string;
  /** Of the last good answer. */
  readonly pods?: readonly Pod[];
  readonly problems: readonly ManifestProblem[];
}

/**
 * Emits the whole source after the first request and whenever it has changed. Whatever comes but a good manifest is a
 * problem and leaves the pods as they are. Never fails, never completes.
 */
export function httpSource(options: HttpSourceOptions): Observable<SourceUpdate> {
  return defer(() => {
    let last: Answer = { problems: [] };
    const round = defer(() => {
      const stop = new AbortController();
      return from(ask(options, last, stop.signal)).pipe(finalize(() => stop.abort()));
    });
    return round.pipe(
      tap((answer) => (last = answer)),
      repeat({ delay: options.checkFrequencyMs }),
      map((answer) => sourceUpdate(answer, shownURL(options.url))),
      distinctUntilChanged<SourceUpdate>(isDeepStrictEqual),
    );
  });
}

function sourceUpdate({ pods, problems }: Answer, file: string): SourceUpdate {
  return {
    ...(pods && { pods }),
    problems: problems.map((problem) => ({ source: 'http', file, ...problem })),
  };
}

/** Never rejects. */
async function ask(options: HttpSourceOptions, before: Answer, stop: AbortSignal): Promise<Answer> {
  const failed = (message: string): Answer => ({ pods: before.pods, problems: [{ message }] });
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  try {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(timeoutMs)]);
    const response = await fetch(...request(options, signal));
    if (response.status !== 200) {
      await response.body?.cancel();
      return failed(`the server answered ${response.status} ${response.statusText}`.trimEnd());
    }
    const content = await bodyOf(response);
    if (!content) return failed('the answer is larger than 10 MiB');
    if (content.length === 0) return failed('the answer is empty');
    return parsed(content, response.headers.get('content-type') ?? '', options, before);
  } catch (error) {
    return failed(`cannot be fetched: ${fetchMessage(error, timeoutMs)}`);
  }
}

function request({ url, headers = {} }: HttpSourceOptions, signal: AbortSignal): [URL, RequestInit] {
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
  return [target, { headers: sent, signal }];
}

/** What `Headers` says of a value that is no good repeats it. */
function appendHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.append(name, value);
  } catch {
    throw new StateletError(
      'InvalidArgument',
      `the header "${name}" has a name or a value that HTTP does not allow`,
    );
  }
}

/** Undefined where it is too large; the rest is not read then. */
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

function parsed(content: Buffer, contentType: string, options: HttpSourceOptions, before: Answer): Answer {
  const digest = createHash('sha1').update(content).digest('hex');
  if (digest === before.digest) return before;
  const { pods, problems } = parseManifest(content);
  if (problems.length === 0) {
    const origin = {
      source: 'http',
      location: withoutUser(options.url),
      nodeName: options.nodeName,
    } as const;
    return { digest, pods: pods.map((pod) => staticPod(pod, origin)), problems };
  }
  const isPage = contentType.startsWith('text/html') || content.subarray(0, 1).toString() === '<';
  const page = { message: 'the answer is a web page, not a manifest: is there a login in the way?' };
  return { digest, pods: before.pods, problems: isPage ? [page] : problems };
}

/** `fetch` itself only says that it failed; its cause says why, for a host of several addresses once for each. */
function fetchMessage(error: unknown, timeoutMs: number): string {
  const { name, cause } = error as { name?: string; cause?: { errors?: readonly unknown[] } };
  if (name === 'TimeoutError') return `no answer within ${timeoutMs / 1000} s`;
  return cause?.errors?.map(errorMessage).join(', ') ?? errorMessage(cause ?? error);
}

/** Without name and password: they may change, and the pods stay the same. */
function withoutUser(url: string): string {
  return url.replace(/^([a-z]+:\/\/)[^/@]*@/i, '$1');
}
