/** Figures of a node: the path says what they show, and when they come. */
import type { EvictionStats } from '../../../src/agent/actors/eviction/eviction-figures.ts';
import { StateletError } from '../../../src/types/errors.ts';
import type { PodStats, Summary } from '../../../src/types/stats.ts';
import { GI, type Left, nodeWith } from '../../support/eviction.ts';
import type { Answer, Figures, Role } from './eviction-environment.ts';

/** What the figures of each answer show; undefined if measuring fails. */
export const FIGURES: Readonly<Record<Answer, Figures | undefined>> = {
  plenty: 'plenty',
  lingering: 'plenty',
  tight: 'tight',
  short: 'short',
  firstOver: 'plenty',
  bothOver: 'short',
  notMeasured: undefined,
  reclaimedEnough: 'plenty',
  reclaimedTooLittle: 'short',
  firstRanked: 'short',
  secondRanked: 'short',
  nobodyRanked: 'short',
  relieved: 'plenty',
};
export const OVER_LIMIT: Partial<Record<Answer, readonly Role[]>> = {
  firstOver: ['first'],
  bothOver: ['first', 'second'],
};
/** Answers that a failed measurement leads to, too. */
export const SAME_WITHOUT_FIGURES: ReadonlySet<Answer> = new Set(['reclaimedTooLittle', 'relieved']);

/** The free resources of the node, and the usage of its pods. */
export interface Measured {
  readonly left: Left;
  readonly pods: readonly PodStats[];
}

export class HeldFigures implements EvictionStats {
  readonly #nowMs: () => number;
  #measurements = 0;
  #asked: PromiseWithResolvers<Summary>[] = [];
  #always: (() => Measured) | undefined;
  #crossed: (crossing: { readonly isBelow: boolean }) => void = () => undefined;
  #stalled: (crossing: { readonly isAbove: boolean; readonly resource: 'memory' | 'io' }) => void = () =>
    undefined;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Whether a measurement waits for its figures. */
  get isAsked(): boolean {
    return this.#asked.length > 0;
  }

  answer(measured: Measured): void {
    this.#asked.shift()?.resolve(this.#summaryOf(measured));
  }

  fail(): void {
    this.#asked.shift()?.reject(new StateletError('Unavailable', 'the test has no figures'));
  }

  /** Never answers the measurements under way. */
  forget(): void {
    this.#asked = [];
  }

  /** From now on, answers measurements at once. */
  always(measure: () => Measured): void {
    this.#always = measure;
    while (this.isAsked) this.answer(measure());
  }

  /** The memory watch reports that memory has become short, or that there is enough again. */
  cross(isBelow: boolean): void {
    this.#crossed({ isBelow });
  }

  /** The pressure watch reports that tasks wait too long for the resource. */
  stall(resource: 'memory' | 'io'): void {
    this.#stalled({ isAbove: true, resource });
  }

  summary(): Promise<Summary> {
    if (this.#always !== undefined) return Promise.resolve(this.#summaryOf(this.#always()));
    const asked = Promise.withResolvers<Summary>();
    this.#asked.push(asked);
    return asked.promise;
  }

  diskLayout() {
    return Promise.resolve({ dedicatedImageFs: false, dedicatedContainerFs: false });
  }

  memoryAvailable() {
    return { capacityBytes: GI };
  }

  watchMemory(_: unknown, onCrossed: (crossing: { readonly isBelow: boolean }) => void) {
    this.#crossed = onCrossed;
    return { stop: () => undefined };
  }

  watchPressure(
    _: unknown,
    onCrossed: (crossing: { readonly isAbove: boolean; readonly resource: 'memory' | 'io' }) => void,
  ) {
    this.#stalled = onCrossed;
    return { stop: () => undefined };
  }

  /** The virtual clock stands still here, but each measurement needs a later time than the one before. */
  #summaryOf({ left, pods }: Measured): Summary {
    this.#measurements += 1;
    return { node: nodeWith({ ...left, nowMs: this.#nowMs() + this.#measurements }), pods };
  }
}
