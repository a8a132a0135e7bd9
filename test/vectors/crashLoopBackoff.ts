import {
  type BackOffDecision,
  type BackOffEntry,
  crashLoopBackOffMessage,
  decideBackOff,
  keepBackOffEntry,
} from '../../src/agent/policies/pod-actions/back-off.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import type { VectorAdapter } from '../support/vectors.ts';

interface Sync {
  readonly op: 'sync';
  readonly now: number;
  readonly finishedAt: number | null;
}

interface Collect {
  readonly op: 'gc';
  readonly now: number;
}

/** The pod of every case. The file has it only in its messages. */
const POD: Pod = {
  metadata: { name: 'pod', namespace: 'ns', uid: 'u' },
  spec: { containers: [{ name: 'c' }] },
};

export const adapter: VectorAdapter = {
  adapt(input: { readonly ops: readonly (Sync | Collect)[] }) {
    let entry: BackOffEntry | undefined;
    const results = input.ops.map((op) => {
      if (op.op === 'gc') {
        entry = keepBackOffEntry(entry, op.now * 1000);
        return { backoffSeconds: backoffSeconds(entry) };
      }
      const finishedAt = op.finishedAt === null ? undefined : op.finishedAt * 1000;
      const decision = decideBackOff(entry, { now: op.now * 1000, finishedAt });
      entry = decision.entry;
      return syncResult(decision);
    });
    return { results };
  },
};

function syncResult(decision: BackOffDecision): unknown {
  const { inBackOff, entry } = decision;
  return {
    inBackOff,
    backoffSeconds: backoffSeconds(entry),
    nextRestartAt: inBackOff ? decision.nextRestartAt / 1000 : null,
    message: inBackOff ? crashLoopBackOffMessage(POD, 'c', decision.entry.backOffMs) : '',
  };
}

function backoffSeconds(entry: BackOffEntry | undefined): number {
  return (entry?.backOffMs ?? 0) / 1000;
}
