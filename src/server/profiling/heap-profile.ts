/** What this process has allocated and still holds, as V8 samples it: function names and sizes, no contents. */
import { Session } from 'node:inspector/promises';
import { sleep } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';
import type { CallFrame, SampledProfile, StackSample } from './pprof-format.ts';

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

/** Of what is allocated from now on. Rejects when `signal` aborts. The profiler is off again when the promise has settled. */
export async function recordHeapProfile(
  durationMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<SampledProfile> {
  const session = new Session();
  session.connect();
  try {
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
  } finally {
    session.disconnect();
  }
}

/** Exported for tests. */
export function heapSamples({ head, samples }: HeapProfile): readonly StackSample[] {
  const counts = new Map<number, number>();
  for (const { nodeId } of samples) counts.set(nodeId, (counts.get(nodeId) ?? 0) + 1);
  const found: StackSample[] = [];
  const visit = ({ id, callFrame, selfSize, children }: HeapNode, callers: readonly CallFrame[]): void => {
    const { functionName, url, lineNumber } = callFrame;
    const stack = [{ functionName, url, lineNumber }, ...callers];
    if (selfSize > 0) found.push({ stack, values: [counts.get(id) ?? 0, selfSize] });
    for (const child of children) visit(child, stack);
  };
  for (const child of head.children) visit(child, []);
  return found;
}
