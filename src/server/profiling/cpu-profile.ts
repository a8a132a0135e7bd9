/** Where this process spends its CPU time, as V8 samples it. */
import type { Profiler } from 'node:inspector';
import { Session } from 'node:inspector/promises';
import { sleep } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';
import type { CallFrame, SampledProfile } from './pprof-format.ts';

/** V8's word for the time in which nothing runs. */
const IDLE = '(idle)';
const INTERVAL_US = 10_000;

/** Rejects when `signal` aborts. The profiler is off again when the promise has settled. */
export async function recordCPUProfile(
  durationMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<SampledProfile> {
  const session = new Session();
  session.connect();
  try {
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
