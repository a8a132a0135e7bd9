import { NODE_STATUS_CASES } from '../support/node-status-cases.ts';
import type { VectorAdapter } from '../support/vectors.ts';

export const adapter: VectorAdapter = {
  adapt({ fn, ...input }: { readonly fn: string }) {
    const run = NODE_STATUS_CASES[fn];
    if (!run) throw new Error(`no policy answers ${fn}`);
    return run(input);
  },
};
