import type { PodEffect } from '../../types/measurements.ts';
import type { Metric } from './metric-text.ts';

/** What was counted since the agent started. */
export interface CountedMetrics {
  readonly effectsInFlight: ReadonlyMap<PodEffect, number>;
  metrics(): readonly Metric[];
  probeMetrics(): readonly Metric[];
}
