import {
  ignoredContainerFs,
  withContainerFsThresholds,
} from '../../src/agent/policies/eviction/file-system-parts.ts';
import { type ThresholdJson, thresholdAsJson, thresholdFrom } from '../support/eviction-json.ts';
import { firstDifference, type VectorAdapter } from '../support/vectors.ts';

interface Input {
  readonly thresholds: readonly ThresholdJson[];
  readonly imageFs: boolean;
  readonly split: boolean;
}

interface Want {
  readonly thresholds: readonly ThresholdJson[];
  readonly error: string | null;
}

export const adapter: VectorAdapter = {
  adapt({ thresholds, imageFs, split }: Input) {
    const layout = { dedicatedImageFs: imageFs, splitContainerFs: split };
    const result = withContainerFsThresholds(thresholds.map(thresholdFrom), layout);
    const last = result.ignored.at(-1);
    return {
      thresholds: result.thresholds.map(thresholdAsJson),
      error: last ? ignoredContainerFs(last) : null,
    };
  },
  /** If a threshold cannot be derived, the kubelet has one that is never exceeded; we have none. */
  matches(got: Want, { thresholds, error }: Want) {
    const meetable = thresholds.filter(({ operator }) => operator !== '');
    return firstDifference(got, { thresholds: meetable, error }) === undefined;
  },
};
