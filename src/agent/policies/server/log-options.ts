/** Queries and forms as Go reads them, and the query of `/containerLogs`: PodLogOptions as the kubelet reads them. */
import { compareGoTimes, type GoTime, parseGoTime, ZERO_TIME } from '../formats/time.ts';
import type { LogViewOptions } from '../logs/log-view.ts';

export interface PodLogOptions {
  readonly container?: string;
  readonly follow?: boolean;
  readonly previous?: boolean;
  readonly timestamps?: boolean;
  readonly sinceSeconds?: number;
  /** The zero time where the query has an empty one. */
  readonly sinceTime?: GoTime;
  readonly tailLines?: number;
  readonly limitBytes?: number;
  readonly stream?: string;
  readonly insecureSkipTLSVerifyBackend?: boolean;
}

/** An answer other than success. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
}

const UNDECODABLE: Refusal = { status: 400, message: '{"message": "Unable to decode query."}' };
const INVALID: Refusal = { status: 422, message: '{"message": "Invalid request."}' };
const STREAMS = ['All', 'Stdout', 'Stderr'];

/** `query`: without its `?`. */
export function podLogOptions(query: string): PodLogOptions | Refusal {
  const options = decoded(formValues(query));
  if (!options) return UNDECODABLE;
  return isValid(options) ? options : INVALID;
}

export function isRefusal(answer: object): answer is Refusal {
  return 'message' in answer;
}

/** One stream alone is behind the feature gate PodLogsQuerySplitStreams, which is off in Kubernetes 1.36. */
export function streamRefusal({ stream }: PodLogOptions): Refusal | undefined {
  if (stream === undefined || stream === 'All') return undefined;
  const message = `unable to return the given log stream: "${stream}". Please enable PodLogsQuerySplitStreams feature gate in kubelet`;
  return { status: 400, message };
}

/** What to show, with `since` as a moment. */
export function logViewOptions(options: PodLogOptions, nowMs: number): LogViewOptions {
  const { follow = false, timestamps = false, tailLines, limitBytes, stream } = options;
  const shown = stream === 'Stdout' || stream === 'Stderr' ? stream : 'All';
  return { follow, timestamps, tailLines, limitBytes, stream: shown, since: since(options, nowMs) };
}

function since({ sinceSeconds, sinceTime }: PodLogOptions, nowMs: number): GoTime | undefined {
  if (sinceSeconds === undefined) return sinceTime;
  const seconds = Math.floor(nowMs / 1000);
  const nanos = Math.floor((nowMs - seconds * 1000) * 1e6);
  const moment: GoTime = { seconds: seconds - sinceSeconds, nanos, offsetMinutes: 0 };
  return sinceTime && compareGoTimes(sinceTime, moment) > 0 ? sinceTime : moment;
}

/** undefined: a value cannot be read. */
function decoded(query: FormValues): PodLogOptions | undefined {
  const first = (key: string): string | undefined => query.get(key)?.[0];
  // `tail` is the older name, and wins.
  const tail = first('tail');
  const tailText = tail === undefined || tail === '' ? first('tailLines') : tail;
  const numbers = {
    sinceSeconds: integer(first('sinceSeconds')),
    tailLines: tail === 'all' ? undefined : integer(tailText),
    limitBytes: integer(first('limitBytes')),
  };
  const sinceTime = time(first('sinceTime'));
  if (sinceTime === null || Object.values(numbers).includes(null)) return undefined;
  const options = {
    container: first('container'),
    follow: truth(first('follow')),
    previous: truth(first('previous')),
    timestamps: truth(first('timestamps')),
    ...(numbers as Readonly<Record<keyof typeof numbers, number | undefined>>),
    sinceTime,
    stream: first('stream'),
    insecureSkipTLSVerifyBackend: truth(first('insecureSkipTLSVerifyBackend')),
  };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** `undefined` is returned as it is: the key is not in the query. */
function truth(text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  return !['false', '0'].includes(text.toLowerCase()) || undefined;
}

const INT64_MAX = 2n ** 63n - 1n;

/** Go's int64; null: it is none. Beyond 2^53 it is rounded, which no file can show. */
function integer(text: string | undefined): number | null | undefined {
  if (text === undefined) return undefined;
  if (!/^[+-]?\d+$/.test(text)) return null;
  const value = BigInt(text.replace(/^\+/, ''));
  return value > INT64_MAX || value < -INT64_MAX - 1n ? null : Number(value);
}

/** null: it cannot be read. */
function time(text: string | undefined): GoTime | null | undefined {
  if (text === undefined) return undefined;
  // Older clients send JSON.
  if (text === '' || text === 'null') return ZERO_TIME;
  return parseGoTime(text) ?? null;
}

function isValid({ tailLines, limitBytes, sinceSeconds, sinceTime, stream }: PodLogOptions): boolean {
  if (tailLines !== undefined && tailLines < 0) return false;
  if (limitBytes !== undefined && limitBytes < 1) return false;
  if (sinceSeconds !== undefined && (sinceSeconds < 1 || sinceTime !== undefined)) return false;
  if (stream === undefined) return true;
  return STREAMS.includes(stream) && (stream === 'All' || tailLines === undefined);
}

// Values of a query or a form, decoded as Go's net/url does it.

export type FormValues = ReadonlyMap<string, readonly string[]>;

/** `query` is without `?`. A pair that cannot be decoded is left out. */
export function formValues(query: string): FormValues {
  const values = new Map<string, string[]>();
  for (const pair of query.split('&')) {
    if (pair === '' || pair.includes(';')) continue;
    const equals = pair.indexOf('=');
    const name = unescape(equals < 0 ? pair : pair.slice(0, equals));
    const value = unescape(equals < 0 ? '' : pair.slice(equals + 1));
    if (name === undefined || value === undefined) continue;
    const known = values.get(name);
    if (known) known.push(value);
    else values.set(name, [value]);
  }
  return values;
}

const BROKEN_ESCAPE = /%(?![0-9a-f]{2})/iu;

function unescape(text: string): string | undefined {
  if (BROKEN_ESCAPE.test(text)) return undefined;
  const spaced = text.replaceAll('+', ' ');
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced.replace(/(?:%[0-9a-f]{2})+/giu, decodeLossily);
  }
}

/** Of bytes that are no UTF-8, the ASCII characters are kept. */
function decodeLossily(escapes: string): string {
  try {
    return decodeURIComponent(escapes);
  } catch {
    return escapes.replace(/%(?<hex>..)/gu, (_, hex: string) => {
      const byte = Number.parseInt(hex, 16);
      return byte < 0x80 ? String.fromCharCode(byte) : '\uFFFD';
    });
  }
}
