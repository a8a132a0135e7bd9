/** Profiles in the format of pprof (profile.proto, compressed by gzip), which `go tool pprof` and others read. */
import type { Profiler } from 'node:inspector';
import { Session } from 'node:inspector/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Function, Line, Location, Profile, Sample, StringTable, ValueType } from 'pprof-format';
import { sleep } from '../../../system/timer.ts';
import type { Clock } from '../../../types/clock.ts';

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
  const table = new FunctionTable(stringTable);
  const sample = samples.map(
    ({ stack, values }) =>
      new Sample({ locationId: stack.map((frame) => table.idOf(frame)), value: [...values] }),
  );
  const profile = new Profile({
    stringTable,
    sampleType,
    sample,
    location: table.locations,
    function: table.functions,
    timeNanos: BigInt(Math.round(startedAt)) * BigInt(NS_PER_MS),
    durationNanos: durationMs * NS_PER_MS,
    periodType: sampleType.at(-1),
    period,
  });
  return compress(profile.encode());
}

/** The functions of a profile, each once. */
class FunctionTable {
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

/** V8's word for the time in which nothing runs. */
const IDLE = '(idle)';

const INTERVAL_US = 10_000;

/** Where this process spends its CPU time. Rejects when `signal` aborts. The profiler is off again when the promise has settled. */
export async function recordCPUProfile(
  durationMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<SampledProfile> {
  return inSession(async (session) => {
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: INTERVAL_US });
    const startedAt = clock.now();
    await session.post('Profiler.start');
    await sleep(clock, durationMs, signal);
    const { profile } = await session.post('Profiler.stop');
    return {
      types: [
        { type: 'samples', unit: 'count' },
        { type: 'cpu', unit: 'nanoseconds' },
      ],
      samples: cpuSamples(profile),
      startedAt,
      durationMs: clock.now() - startedAt,
      period: INTERVAL_US * 1000,
    };
  });
}

/** What has been switched on in the session is off again at its end. */
async function inSession<T>(record: (session: Session) => Promise<T>): Promise<T> {
  const session = new Session();
  session.connect();
  try {
    return await record(session);
  } finally {
    session.disconnect();
  }
}

/** Exported for tests. */
export function cpuSamples({
  nodes,
  samples = [],
  timeDeltas = [],
}: Profiler.Profile): SampledProfile['samples'] {
  const totals = new Map<number, { count: number; us: number }>();
  for (const [index, id] of samples.entries()) {
    const total = totals.get(id) ?? { count: 0, us: 0 };
    totals.set(id, { count: total.count + 1, us: total.us + (timeDeltas[index] ?? 0) });
  }
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  return [...totals].flatMap(([id, { count, us }]) => {
    const stack: CallFrame[] = [];
    for (let at: number | undefined = id; at !== undefined && parents.has(at); at = parents.get(at)) {
      const frame = byId.get(at)?.callFrame;
      if (frame !== undefined) stack.push(frameOf(frame));
    }
    if (stack.length === 0 || stack[0]?.functionName === IDLE) return [];
    return [{ stack, values: [count, us * 1000] }];
  });
}

function frameOf({ functionName, url, lineNumber }: CallFrame): CallFrame {
  return { functionName, url, lineNumber };
}

/** As the inspector's protocol has it; the types of Node lack some of it. */
export interface HeapNode {
  readonly id: number;
  readonly callFrame: CallFrame;
  readonly selfSize: number;
  readonly children: readonly HeapNode[];
}

export interface HeapProfile {
  readonly head: HeapNode;
  readonly samples: readonly { readonly nodeId: number }[];
}

const INTERVAL_BYTES = 32 * 1024;

/**
 * What this process allocates from now on and still holds at the end: function names and sizes, no contents. Rejects when `signal`
 * aborts. The profiler is off again when the promise has settled.
 */
export async function recordHeapProfile(
  durationMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<SampledProfile> {
  return inSession(async (session) => {
    const startedAt = clock.now();
    await session.post('HeapProfiler.startSampling', { samplingInterval: INTERVAL_BYTES });
    await sleep(clock, durationMs, signal);
    const { profile } = await session.post('HeapProfiler.stopSampling');
    return {
      types: [
        { type: 'inuse_objects', unit: 'count' },
        { type: 'inuse_space', unit: 'bytes' },
      ],
      samples: heapSamples(profile as unknown as HeapProfile),
      startedAt,
      durationMs: clock.now() - startedAt,
      period: INTERVAL_BYTES,
    };
  });
}

/** Exported for tests. */
export function heapSamples({ head, samples }: HeapProfile): readonly StackSample[] {
  const counts = new Map<number, number>();
  for (const { nodeId } of samples) counts.set(nodeId, (counts.get(nodeId) ?? 0) + 1);
  const found: StackSample[] = [];
  const visit = ({ id, callFrame, selfSize, children }: HeapNode, callers: readonly CallFrame[]): void => {
    const stack = [frameOf(callFrame), ...callers];
    if (selfSize > 0) found.push({ stack, values: [counts.get(id) ?? 0, selfSize] });
    for (const child of children) visit(child, stack);
  };
  for (const child of head.children) visit(child, []);
  return found;
}
