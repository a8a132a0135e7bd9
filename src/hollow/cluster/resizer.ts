/** Expands the volumes of the plan's drivers whose claims ask for more, as the external-resizer of each driver would. */
import type { Subscription } from 'rxjs';
import type { ApiServer } from '../../agent/cluster/service/api-server.ts';
import { keyOf } from '../../agent/cluster/watches/object-store.ts';
import type { WatchContext } from '../../agent/cluster/watches/reflect.ts';
import { compareQuantity, quantityOrZero } from '../../agent/policies/formats/quantity.ts';
import { rfc3339 } from '../../agent/policies/formats/time.ts';
import type { KeyedRandom } from '../../simulation/resources/growth.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../types/kubernetes.ts';
import type { HollowCsiDriver } from '../plan/hollow-csi.ts';
import { followObjects } from './follow-objects.ts';
import { type PlannedCaller, PlannedCalls, type PlannedWork } from './planned-calls.ts';
import type { RequestGate } from './request-gate.ts';

export interface ResizerParts {
  readonly api: ApiServer;
  readonly gate: RequestGate;
  readonly drivers: readonly HollowCsiDriver[];
  readonly random: KeyedRandom;
}

type Claim = PersistentVolumeClaim;

export class Resizer {
  readonly #context: WatchContext;
  readonly #parts: ResizerParts;
  readonly #drivers: ReadonlyMap<string, HollowCsiDriver>;
  readonly #watch: Subscription;
  readonly #calls: PlannedCalls;
  /** Claims that ask for more than they have, by namespace and name. Others are not kept. */
  readonly #growing = new Map<string, Claim>();

  constructor(context: WatchContext, parts: ResizerParts) {
    this.#context = context;
    this.#parts = parts;
    this.#calls = new PlannedCalls(context, (key) => parts.random(`resize/${key}`));
    const own = parts.drivers.filter(({ isResizing }) => isResizing);
    this.#drivers = new Map(own.map((driver) => [driver.name, driver]));
    this.#watch = followObjects<Claim>(context, parts.api, 'persistentvolumeclaims', {
      take: (claim) => this.#take(claim),
      forget: (key) => this.#forget(key),
      known: () => this.#growing.keys(),
    });
  }

  close(): void {
    this.#watch.unsubscribe();
    this.#calls.endAll();
  }

  #take(claim: Claim): void {
    const key = keyOf(claim);
    if (!isGrowing(claim)) {
      this.#growing.delete(key);
      return;
    }
    this.#growing.set(key, claim);
    this.#look(key);
  }

  #forget(key: string): void {
    this.#growing.delete(key);
    this.#calls.end(key);
  }

  /** What the claim asks for while it is expanded comes after that. */
  #look(key: string): void {
    const claim = this.#growing.get(key);
    if (claim === undefined || this.#calls.isUnderWay(key)) return;
    const work: PlannedWork = async (call, signal) => {
      if (await this.#grow(claim, call, signal)) return;
      if (this.#growing.get(key) === claim) this.#growing.delete(key);
    };
    this.#calls.begin(key, work, () => this.#look(key));
  }

  /** Resolves to whether there was anything to do. */
  async #grow(seen: Claim, call: PlannedCaller, signal: AbortSignal): Promise<boolean> {
    const { namespace = '', name = '' } = seen.metadata ?? {};
    const claim = await this.#pass((api) =>
      api.get<Claim>({ resource: 'persistentvolumeclaims', namespace, name }, { signal }),
    );
    if (!isGrowing(claim)) return false;
    const volumeTarget = { resource: 'persistentvolumes', name: claim.spec?.volumeName ?? '' } as const;
    const volume = await this.#pass((api) => api.get<PersistentVolume>(volumeTarget, { signal }));
    const driver = this.#drivers.get(volume.spec?.csi?.driver ?? '');
    const size = requested(claim);
    const isLarger = isMore(size, volume.spec?.capacity?.storage);
    if (driver === undefined || (!isLarger && stateOf(claim) === undefined)) return false;
    await this.#write(claim, {
      allocatedResources: { storage: size },
      allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
      conditions: [this.#condition('Resizing')],
    });
    await call({ ms: driver.calls.ControllerExpandVolume, failures: driver.callFailures });
    if (isLarger)
      await this.#pass((api) => api.patch(volumeTarget, { spec: { capacity: { storage: size } } }));
    await this.#write(claim, volume.spec?.volumeMode === 'Block' ? isLargeEnough(size) : this.#leftToNode());
    return true;
  }

  #leftToNode(): object {
    const pending = this.#condition('FileSystemResizePending', 'the node has to expand the file system');
    return {
      allocatedResourceStatuses: { storage: 'NodeResizePending' },
      conditions: [pending, NOT_RESIZING],
    };
  }

  #condition(type: string, message?: string): object {
    return { type, status: 'True', lastTransitionTime: rfc3339(this.#context.clock.now()), message };
  }

  async #write({ metadata }: Claim, status: object): Promise<void> {
    const { namespace = '', name = '' } = metadata ?? {};
    const target = { resource: 'persistentvolumeclaims', namespace, name, subresource: 'status' } as const;
    await this.#pass((api) => api.patch(target, { status }));
  }

  #pass<T>(request: (api: ApiServer) => Promise<T>): Promise<T> {
    return this.#parts.gate.pass('main', () => request(this.#parts.api));
  }
}

const NOT_RESIZING = { type: 'Resizing', $patch: 'delete' };

/** The node has nothing to do for a block device. */
function isLargeEnough(size: string): object {
  return {
    capacity: { storage: size },
    allocatedResourceStatuses: { storage: null },
    conditions: [NOT_RESIZING],
  };
}

const requested = ({ spec }: Claim): string => spec?.resources?.requests?.storage ?? '0';
const stateOf = ({ status }: Claim): string | undefined => status?.allocatedResourceStatuses?.storage;

/** Whether its volume may have to be expanded: by a claim's status, as far as that tells. */
function isGrowing(claim: Claim): boolean {
  const { phase, allocatedResources, capacity } = claim.status ?? {};
  if (phase !== 'Bound' || (claim.spec?.volumeName ?? '') === '') return false;
  if (IN_WORK.has(stateOf(claim) ?? '')) return true;
  return isMore(requested(claim), allocatedResources?.storage ?? capacity?.storage);
}

/** Begun by an earlier process, or refused by the node: then the controller expands the volume again. */
const IN_WORK: ReadonlySet<string> = new Set([
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizeInfeasible',
]);

function isMore(size: string, than: string | undefined): boolean {
  return compareQuantity(quantityOrZero(size), quantityOrZero(than)) > 0;
}
