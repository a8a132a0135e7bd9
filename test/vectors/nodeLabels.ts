import { texts } from '../../src/agent/config/setting.ts';
import { nodeLabelsProblem } from '../../src/agent/policies/node/node-capacity.ts';
import type { VectorAdapter } from '../support/vectors.ts';

type Labels = Readonly<Record<string, string>>;
type Input =
  | { readonly fn: 'parse'; readonly values: readonly string[] }
  | { readonly fn: 'validate'; readonly nodeLabels: Labels };

interface Answer {
  readonly error: string | null;
  readonly nodeLabels?: Labels;
}

const PAIRS = texts('=', 'NAME=VALUE');

function parse(values: readonly string[]): Answer {
  let nodeLabels: Labels = {};
  for (const value of values) {
    const labels = PAIRS.fromText(value);
    if (labels === undefined) return { error: `must be ${PAIRS.expects}` };
    nodeLabels = PAIRS.merge?.(nodeLabels, labels) ?? labels;
  }
  return { error: null, nodeLabels };
}

export const adapter: VectorAdapter = {
  adapt(input: Input): Answer {
    if (input.fn === 'parse') return parse(input.values);
    return { error: nodeLabelsProblem(input.nodeLabels) ?? null };
  },
  /** Our errors have texts of their own. */
  matches(got: Answer, want: Answer) {
    const labels = (answer: Answer) => JSON.stringify(Object.entries(answer.nodeLabels ?? {}).sort());
    return (got.error === null) === (want.error === null) && labels(got) === labels(want);
  },
};
