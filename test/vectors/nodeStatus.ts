import { NODE_REPORT_CASES } from '../support/node-report-cases.ts';
import { NODE_STATUS_CASES } from '../support/node-status-cases.ts';
import type { VectorAdapter } from '../support/vectors.ts';

const CASES = { ...NODE_STATUS_CASES, ...NODE_REPORT_CASES };

export const adapter: VectorAdapter = {
  adapt({ fn, ...input }: { readonly fn: string }) {
    const run = CASES[fn];
    if (!run) throw new Error(`no policy answers ${fn}`);
    return run(input);
  },
};
