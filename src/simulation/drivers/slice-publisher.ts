/**
 * The part of a simulated DRA driver that publishes its devices: it makes a ResourceSlice, and makes it again if it is deleted.
 */
import type { Clock } from '../../types/clock.ts';
import type { SimulatedApiServer } from '../api/simulated-api-server.ts';

export interface SlicePublisherOptions {
  readonly driver: string;
  readonly api: SimulatedApiServer;
  readonly clock: Clock;
  readonly isThere: () => boolean;
}

const PERIOD_MS = 2_000;

export class SlicePublisher {
  readonly #options: SlicePublisherOptions;

  constructor(options: SlicePublisherOptions) {
    this.#options = options;
    this.#lookLater();
  }

  get isPublished(): boolean {
    return this.#options.api.store.get('resourceslices', this.#target) !== undefined;
  }

  get #target() {
    const { api, driver } = this.#options;
    return { resource: 'resourceslices', name: `${api.nodeName}-${driver}` } as const;
  }

  #lookLater(): void {
    const { api, clock, driver, isThere } = this.#options;
    clock.setTimeout(() => {
      const { resource, name } = this.#target;
      const spec = {
        driver,
        nodeName: api.nodeName,
        pool: { name: 'pool', generation: 1, resourceSliceCount: 1 },
      };
      if (isThere() && !this.isPublished) api.operations.create({ resource }, { metadata: { name }, spec });
      this.#lookLater();
    }, PERIOD_MS);
  }
}
