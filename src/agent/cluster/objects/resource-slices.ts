/** The ResourceSlices of this node, by which DRA drivers publish their devices. The agent only deletes them. */
import type { ResourceSlice } from '../../../types/kubernetes.ts';
import { hasReason } from '../service/api-error.ts';
import type { ApiServer } from '../service/api-server.ts';

export class ResourceSlices {
  readonly #api: Pick<ApiServer, 'list' | 'delete'>;
  readonly #nodeName: string;

  constructor(api: Pick<ApiServer, 'list' | 'delete'>, nodeName: string) {
    this.#api = api;
    this.#nodeName = nodeName;
  }

  /** Of one driver, or of all but those that are spared. A server that has no ResourceSlices has none of this node. */
  async remove(
    driver: string | undefined,
    isSpared: (driver: string) => boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const ofDriver = driver === undefined ? '' : `,spec.driver=${driver}`;
    const fieldSelector = `spec.nodeName=${this.#nodeName}${ofDriver}`;
    try {
      const { items } = await this.#api.list<ResourceSlice>(
        { resource: 'resourceslices' },
        { fieldSelector, signal },
      );
      for (const { metadata, spec } of items) {
        if (!isSpared(spec.driver)) await this.#delete(metadata?.name ?? '', metadata?.uid ?? '', signal);
      }
    } catch (error) {
      if (!hasReason(error, 'NotFound')) throw error;
    }
  }

  async #delete(name: string, uid: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#api.delete({ resource: 'resourceslices', name }, { uid, signal });
    } catch (error) {
      // The driver may have deleted it, or made it anew.
      if (!hasReason(error, 'NotFound') && !hasReason(error, 'Conflict')) throw error;
    }
  }
}
