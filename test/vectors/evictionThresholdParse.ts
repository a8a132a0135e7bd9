import { parseThresholds, type ThresholdSettings } from '../../src/agent/policies/eviction/thresholds.ts';
import { StateletError } from '../../src/types/errors.ts';
import { type ThresholdJson, thresholdAsJson } from '../support/eviction-json.ts';
import { firstDifference, type VectorAdapter } from '../support/vectors.ts';

type Input = Partial<ThresholdSettings> & { readonly allocatableConfig?: readonly string[] };

/** Errors of Go's libraries, which do not name the setting. Ours do. */
const OF_LIBRARY = /^(?:strconv\.ParseFloat|time): /;

export const adapter: VectorAdapter = {
  skip: {
    'exotic hard nan%': 'a threshold that is no number is refused',
    'exotic hard inf%': 'infinity is refused as no number',
    'exotic hard 0x1p4%': 'numbers are decimal',
    'exotic hard 1_0%': 'numbers are decimal',
  },
  adapt({ allocatableConfig = [], ...settings }: Input) {
    const none = {
      evictionHard: {},
      evictionSoft: {},
      evictionSoftGracePeriod: {},
      evictionMinimumReclaim: {},
    };
    try {
      const enforceNodeAllocatable = allocatableConfig;
      const thresholds = parseThresholds({ ...none, ...settings, enforceNodeAllocatable });
      return { thresholds: thresholds.map(thresholdAsJson).sort(inOrderOfFile) };
    } catch (error) {
      if (error instanceof StateletError) return { error: error.message };
      throw error;
    }
  },
  matches(got: { error?: string }, want: { error?: string }) {
    const differs = firstDifference(got, want) !== undefined;
    return !differs || (got.error !== undefined && OF_LIBRARY.test(want.error ?? ''));
  },
};

/** Sorted: thresholds without grace period first, then by signal, then by value as text. */
function inOrderOfFile(a: ThresholdJson, b: ThresholdJson): number {
  const [keyA, keyB] = [a, b].map(({ gracePeriodSeconds, signal, value }) =>
    [Number(gracePeriodSeconds > 0), signal, JSON.stringify(value)].join(' '),
  );
  return keyA! < keyB! ? -1 : 1;
}
