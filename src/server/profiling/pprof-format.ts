/** Profiles in the format of pprof (profile.proto, compressed by gzip), which `go tool pprof` and others read. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Function, Line, Location, Profile, Sample, StringTable, ValueType } from 'pprof-format';

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

const NS_PER_MS = 1_000_000;
const compress = promisify(gzip);

export function writeProfile({
  types,
  samples,
  startedAt,
  durationMs,
  period,
}: SampledProfile): Promise<Buffer> {
  const stringTable = new StringTable();
  const sampleType = types.map(
    ({ type, unit }) => new ValueType({ type: stringTable.dedup(type), unit: stringTable.dedup(unit) }),
  );
  const places = new Places(stringTable);
  const sample = samples.map(
    ({ stack, values }) =>
      new Sample({ locationId: stack.map((frame) => places.idOf(frame)), value: [...values] }),
  );
  const profile = new Profile({
    stringTable,
    sampleType,
    sample,
    location: places.locations,
    function: places.functions,
    timeNanos: BigInt(Math.round(startedAt)) * BigInt(NS_PER_MS),
    durationNanos: durationMs * NS_PER_MS,
    periodType: sampleType.at(-1),
    period,
  });
  return compress(profile.encode());
}

/** The functions of a profile, each once. */
class Places {
  readonly locations: Location[] = [];
  readonly functions: Function[] = [];
  readonly #texts: StringTable;
  readonly #ids = new Map<string, number>();

  constructor(texts: StringTable) {
    this.#texts = texts;
  }

  idOf(frame: CallFrame): number {
    const key = JSON.stringify(frame);
    return this.#ids.get(key) ?? this.#add(key, frame);
  }

  #add(key: string, { functionName, url, lineNumber }: CallFrame): number {
    const id = this.functions.length + 1;
    const line = lineNumber + 1;
    const name = this.#texts.dedup(functionName === '' ? '(anonymous)' : functionName);
    const filename = this.#texts.dedup(url);
    this.functions.push(new Function({ id, name, systemName: name, filename, startLine: line }));
    this.locations.push(new Location({ id, line: [new Line({ functionId: id, line })] }));
    this.#ids.set(key, id);
    return id;
  }
}
