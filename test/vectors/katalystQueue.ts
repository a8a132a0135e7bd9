import { EvictionQueue } from '../../src/agent/policies/eviction-plugins/pod-choice.ts';
import type { VectorAdapter } from '../support/vectors.ts';

type Operation =
  | { readonly op: 'add'; readonly pods: readonly string[]; readonly override: boolean }
  | { readonly op: 'withdraw'; readonly pods: readonly string[] }
  | { readonly op: 'pop' };

interface Input {
  readonly limit: number;
  readonly ops: readonly Operation[];
}

type Entry = { readonly uid: string };
const uids = (entries: readonly Entry[]) => entries.map(({ uid }) => uid);

function carryOut(queue: EvictionQueue<Entry>, operation: Operation): readonly string[] | null {
  if (operation.op === 'pop') return uids(queue.take());
  if (operation.op === 'withdraw') queue.withdraw(operation.pods);
  else queue[operation.override ? 'replace' : 'add'](operation.pods.map((uid) => ({ uid })));
  return null;
}

export const adapter: VectorAdapter = {
  adapt({ limit, ops }: Input) {
    const queue = new EvictionQueue<Entry>(limit);
    return {
      results: ops.map((operation) => ({ popped: carryOut(queue, operation), list: uids(queue.entries) })),
    };
  },
};
