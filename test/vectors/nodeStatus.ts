import { NODE_REPORT_CASES } from '../support/node-report-cases.ts';
import { NODE_STATUS_CASES } from '../support/node-status-cases.ts';
import { firstDifference, type VectorAdapter } from '../support/vectors.ts';

const CASES = { ...NODE_STATUS_CASES, ...NODE_REPORT_CASES };

export const adapter: VectorAdapter = {
  adapt({ fn, ...input }: { readonly fn: string }) {
    const run = CASES[fn];
    if (!run) throw new Error(`no policy answers ${fn}`);
    return run(input);
  },
  matches: (got, want) => firstDifference(withoutEmptyLists(got), withoutEmptyLists(want)) === undefined,
};

/** An absent list equals an empty one: the API leaves both out. */
function withoutEmptyLists(answer: unknown): unknown {
  const members = Object.entries(answer as object);
  return Object.fromEntries(members.filter(([, value]) => !isNothing(value)));
}

function isNothing(value: unknown): boolean {
  return value === null || value === undefined || (Array.isArray(value) && value.length === 0);
}
