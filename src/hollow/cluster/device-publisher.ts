/** Publishes the devices of the DRA drivers of a node by ResourceSlices, as each driver does itself. */
import { isDeepStrictEqual } from 'node:util';
import { combineLatest, type Observable } from 'rxjs';
import type { ApiServer } from '../../agent/cluster/service/api-server.ts';
import { reflect, type WatchContext } from '../../agent/cluster/watches/reflect.ts';
import type { WatchedObject } from '../../agent/cluster/watches/watched-object.ts';
import { untilDone } from '../../system/until-done.ts';
import type { Node, ResourceSlice } from '../../types/kubernetes.ts';
import type { HollowDraDriver } from '../plan/hollow-dra.ts';

export interface DevicePublisherParts {
  readonly api: ApiServer;
  readonly nodeName: string;
  /** The owner of the slices. */
  readonly node: Observable<WatchedObject<Node>>;
  readonly drivers: readonly HollowDraDriver[];
}

type Attributes = NonNullable<ResourceSlice['spec']['devices']>[number]['attributes'];

const RETRY = { firstMs: 1_000, mostMs: 60_000 };

export class DevicePublisher {
  readonly #context: WatchContext;
  readonly #parts: DevicePublisherParts;
  readonly #life = new AbortController();
  /** Names of slices that are being written. */
  readonly #underWay = new Set<string>();
  #known: readonly ResourceSlice[] = [];

  /** From now on each driver has its slice, once there is a Node: a slice that is deleted is made again. */
  constructor(context: WatchContext, parts: DevicePublisherParts) {
    this.#context = context;
    this.#parts = parts;
    const { api, nodeName, node } = parts;
    const fieldSelector = `spec.nodeName=${nodeName}`;
    const slices = reflect<ResourceSlice>(api, { resource: 'resourceslices' }, { ...context, fieldSelector });
    const subscription = combineLatest([node, slices]).subscribe(([{ object: owner }, { objects }]) => {
      if (owner === undefined || objects === undefined) return;
      this.#known = objects;
      for (const driver of parts.drivers) this.#look(sliceName(driver, nodeName), sliceOf(driver, owner));
    });
    this.#life.signal.addEventListener('abort', () => subscription.unsubscribe());
  }

  stop(): void {
    this.#life.abort();
  }

  #look(name: string, wanted: ResourceSlice): void {
    if (this.#underWay.has(name) || this.#isPublished(name, wanted)) return;
    const { clock, logger } = this.#context;
    const { signal } = this.#life;
    const onFailure = (problem: string) =>
      logger.debug({ slice: name }, `Cannot publish devices: ${problem}`);
    this.#underWay.add(name);
    void untilDone(clock, () => this.#write(name, wanted), { ...RETRY, signal, onFailure })
      .catch(() => undefined)
      .finally(() => this.#underWay.delete(name));
  }

  async #write(name: string, wanted: ResourceSlice): Promise<void> {
    if (this.#isPublished(name, wanted)) return;
    const { api } = this.#parts;
    const { signal } = this.#life;
    const current = this.#find(name);
    if (current === undefined) {
      await api.create({ resource: 'resourceslices' }, wanted, { signal });
      return;
    }
    const pool = { ...wanted.spec.pool, generation: current.spec.pool.generation + 1 };
    const changed = { ...current, spec: { ...wanted.spec, pool } };
    await api.update({ resource: 'resourceslices', name }, changed, { signal });
  }

  #isPublished(name: string, { spec }: ResourceSlice): boolean {
    return isDeepStrictEqual(this.#find(name)?.spec.devices, spec.devices);
  }

  #find(name: string): ResourceSlice | undefined {
    return this.#known.find(({ metadata }) => metadata?.name === name);
  }
}

const sliceName = ({ name }: HollowDraDriver, nodeName: string) => `${nodeName}-${name}`;

function sliceOf(driver: HollowDraDriver, { metadata }: Node): ResourceSlice {
  const { name: nodeName, uid = '' } = metadata;
  const { attributes, capacity } = driver;
  return {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceSlice',
    metadata: {
      name: sliceName(driver, nodeName),
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid, controller: true }],
    },
    spec: {
      driver: driver.name,
      nodeName,
      pool: { name: nodeName, generation: 1, resourceSliceCount: 1 },
      devices: Array.from({ length: driver.devices }, (_, index) => ({
        name: `device-${String(index)}`,
        ...(Object.keys(attributes).length > 0 && { attributes: attributes as Attributes }),
        ...(Object.keys(capacity).length > 0 && { capacity }),
      })),
    },
  };
}
