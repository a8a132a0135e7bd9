/** Thresholds and observations in the form of the vectors. */
import type { Observations } from '../../src/agent/policies/eviction/observations.ts';
import type { EvictionSignal } from '../../src/agent/policies/eviction/signals.ts';
import type { Threshold, ThresholdValue } from '../../src/agent/policies/eviction/thresholds.ts';
import { parseQuantity, quantityString } from '../../src/agent/policies/formats/quantity.ts';

type ValueJson = { readonly quantity: string } | { readonly percentage: number };

export interface ThresholdJson {
  readonly id?: string;
  readonly signal: EvictionSignal;
  /** '' if the kubelet has a threshold that is never met. */
  readonly operator: string;
  readonly value: ValueJson;
  readonly gracePeriodSeconds: number;
  readonly minReclaim: ValueJson | null;
}

interface ObservationJson {
  readonly available: string;
  readonly capacity: string;
  /** Unix seconds. */
  readonly time: number | null;
}

export type ObservationsJson = Readonly<Partial<Record<EvictionSignal, ObservationJson>>>;

export function thresholdFrom(json: ThresholdJson): Threshold {
  const { signal, value, gracePeriodSeconds, minReclaim } = json;
  return {
    signal,
    value: valueFrom(value),
    gracePeriodMs: gracePeriodSeconds * 1000,
    ...(minReclaim && { minReclaim: valueFrom(minReclaim) }),
  };
}

export function thresholdAsJson({ signal, value, gracePeriodMs, minReclaim }: Threshold): ThresholdJson {
  return {
    signal,
    operator: 'LessThan',
    value: valueAsJson(value),
    gracePeriodSeconds: gracePeriodMs / 1000,
    minReclaim: minReclaim ? valueAsJson(minReclaim) : null,
  };
}

export function observationsFrom(json: ObservationsJson = {}): Observations {
  return new Map(
    Object.entries(json).map(([signal, { available, capacity, time }]) => [
      signal as EvictionSignal,
      {
        available: parseQuantity(available),
        capacity: parseQuantity(capacity),
        timeMs: time === null ? undefined : time * 1000,
      },
    ]),
  );
}

function valueFrom(value: ValueJson): ThresholdValue {
  return 'quantity' in value ? { quantity: parseQuantity(value.quantity) } : value;
}

function valueAsJson(value: ThresholdValue): ValueJson {
  return 'quantity' in value ? { quantity: quantityString(value.quantity) } : value;
}
