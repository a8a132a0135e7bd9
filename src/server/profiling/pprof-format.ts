/** Profiles in the format of pprof (profile.proto, compressed by gzip), which `go tool pprof` and others read. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { field, int, list, message, string } from '../../system/protobuf.ts';

/** A function in a source file, as V8 names it. Lines and columns begin at 0. */
export interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

export interface StackSample {
  /** The innermost call first. */
  readonly stack: readonly CallFrame[];
  /** One for each type of sample. */
  readonly values: readonly number[];
}

export interface SampledProfile {
  /** `samples`/`count`, `cpu`/`nanoseconds`. */
  readonly types: readonly { readonly type: string; readonly unit: string }[];
  readonly samples: readonly StackSample[];
  /** Unix ms. */
  readonly startedAt: number;
  readonly durationMs: number;
  /** How far two samples are apart, in the unit of the last type; 0: not known. */
  readonly period: number;
}

interface Line {
  readonly functionId: number;
  readonly line: number;
}

const valueType = message<{ type: number; unit: number }>({ type: field(1, int), unit: field(2, int) });
const sample = message<{ locationIds: readonly number[]; values: readonly number[] }>({
  locationIds: list(1, int),
  values: list(2, int),
});
const line = message<Line>({ functionId: field(1, int), line: field(2, int) });
const location = message<{ id: number; lines: readonly Line[] }>({ id: field(1, int), lines: list(4, line) });
const sourceFunction = message<{
  id: number;
  name: number;
  systemName: number;
  fileName: number;
  startLine: number;
}>({
  id: field(1, int),
  name: field(2, int),
  systemName: field(3, int),
  fileName: field(4, int),
  startLine: field(5, int),
});

type Read<T> = T extends { decode(bytes: Buffer): infer V } ? V : never;

/** Texts are numbers here: their places in `texts`. */
export interface PprofProfile {
  readonly sampleTypes: readonly Read<typeof valueType>[];
  readonly samples: readonly Read<typeof sample>[];
  readonly locations: readonly Read<typeof location>[];
  readonly functions: readonly Read<typeof sourceFunction>[];
  readonly texts: readonly string[];
  readonly timeNanos: number;
  readonly durationNanos: number;
  readonly periodType: Read<typeof valueType>;
  readonly period: number;
}

export const pprofProfile = message<PprofProfile>({
  sampleTypes: list(1, valueType),
  samples: list(2, sample),
  locations: list(4, location),
  functions: list(5, sourceFunction),
  texts: list(6, string),
  timeNanos: field(9, int),
  durationNanos: field(10, int),
  periodType: field(11, valueType),
  period: field(12, int),
});

const NS_PER_MS = 1_000_000;
const compress = promisify(gzip);

export function writeProfile(profile: SampledProfile): Promise<Buffer> {
  return compress(pprofProfile.encode(asPprof(profile)));
}

function asPprof({ types, samples, startedAt, durationMs, period }: SampledProfile): PprofProfile {
  // The first text is always the empty one.
  const texts = new Numbers<string>((text) => text, ['']);
  const frames = new Numbers<CallFrame>((frame) => JSON.stringify(frame));
  const written = samples.map(({ stack, values }) => ({
    locationIds: stack.map((frame) => frames.of(frame) + 1),
    values,
  }));
  const sampleTypes = types.map(({ type, unit }) => ({ type: texts.of(type), unit: texts.of(unit) }));
  const functions = frames.items.map(({ functionName, url, lineNumber }, index) => {
    const name = texts.of(functionName === '' ? '(anonymous)' : functionName);
    const startLine = lineNumber + 1;
    return { id: index + 1, name, systemName: name, fileName: texts.of(url), startLine };
  });
  return {
    sampleTypes,
    samples: written,
    functions,
    locations: functions.map(({ id, startLine }) => ({ id, lines: [{ functionId: id, line: startLine }] })),
    texts: texts.items,
    timeNanos: startedAt * NS_PER_MS,
    durationNanos: durationMs * NS_PER_MS,
    periodType: sampleTypes.at(-1) ?? { type: 0, unit: 0 },
    period,
  };
}

/** Gives equal items the same number, counted from 0. */
class Numbers<T> {
  readonly items: T[] = [];
  readonly #keyOf: (item: T) => string;
  readonly #numbers = new Map<string, number>();

  constructor(keyOf: (item: T) => string, first: readonly T[] = []) {
    this.#keyOf = keyOf;
    for (const item of first) this.of(item);
  }

  of(item: T): number {
    const key = this.#keyOf(item);
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = this.items.push(item) - 1;
    this.#numbers.set(key, number);
    return number;
  }
}
