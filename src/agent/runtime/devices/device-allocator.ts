/** Gives devices to containers: chooses them, asks their plugin what the container needs to use them, and keeps a record. */
import { chooseDevices, type DeviceChoice, withPreferred } from '../../policies/devices/device-choice.ts';
import { parseQuantity, quantityValue } from '../../policies/formats/quantity.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { Container, EphemeralContainer, Pod } from '../../../types/kubernetes.ts';
import type { DeviceRecord, DeviceRecords } from './device-records.ts';
import type { DeviceStock } from './device-stock.ts';
import type { NotedWaits } from '../node/noted-waits.ts';

export interface DeviceAllocatorParts {
  readonly stock: DeviceStock;
  readonly records: DeviceRecords;
  readonly waits: NotedWaits;
}

type RequestingContainer = Pick<Container | EphemeralContainer, 'name' | 'resources'>;

export class DeviceAllocator {
  readonly #context: AgentContext;
  readonly #parts: DeviceAllocatorParts;

  constructor(context: AgentContext, parts: DeviceAllocatorParts) {
    this.#context = context;
    this.#parts = parts;
  }

  /** How many devices the container requests, by resource. Only resources that have or had a plugin count. */
  requests({ resources }: Pick<RequestingContainer, 'resources'>): ReadonlyMap<string, number> {
    const { stock, records } = this.#parts;
    const counts = new Map<string, number>();
    for (const [name, amount] of Object.entries(resources?.limits ?? {}))
      if (name.includes('/') && (stock.has(name) || records.allocated(name).size > 0))
        counts.set(name, Number(quantityValue(parseQuantity(amount))));
    return counts;
  }

  /**
   * Sets aside the devices that the container requests: no other container gets them. Throws an error that says why it cannot
   * have them.
   */
  reserve(pod: Pod, container: RequestingContainer, numaNodes: readonly number[] | undefined): void {
    for (const [resource, count] of this.requests(container)) {
      const choice = this.#choose(pod, { container: container.name, resource, count, numaNodes });
      if (choice.kind === 'refused') throw new StateletError('ResourceExhausted', choice.problem);
      if (choice.kind === 'held') continue;
      const ids = chosenIds(choice, []);
      this.#record(pod, { container: container.name, resource, ids, answer: undefined, numaNodes });
    }
  }

  /** Calls the plugins of the devices that are set aside for the container. Resolves to whether there were any. */
  async complete(pod: Pod, container: string, signal: AbortSignal): Promise<boolean> {
    const setAside = this.#parts.records.setAside(pod.metadata.uid);
    const reserved = setAside.filter((record) => record.container === container);
    for (const record of reserved) await this.#completeOne(pod, record, signal);
    return reserved.length > 0;
  }

  async #completeOne(pod: Pod, reserved: DeviceRecord, signal: AbortSignal): Promise<void> {
    const { resource } = reserved;
    const { stock, waits } = this.#parts;
    const end = this.#context.measurements?.devices.allocated(resource);
    signal.throwIfAborted();
    const ids = await this.#preferred(pod, reserved, signal);
    const plugin = stock.plugin(resource);
    if (plugin === undefined)
      throw new StateletError('FailedPrecondition', `unknown Device Plugin ${resource}`);
    const wait = { uid: pod.metadata.uid, resource, call: 'Allocate' } as const;
    const answer = await waits.during(wait, plugin.allocate(ids, signal));
    signal.throwIfAborted();
    end?.();
    this.#record(pod, { ...reserved, ids, answer });
  }

  /** Replaces the devices that are set aside by those that the plugin prefers. */
  async #preferred(pod: Pod, reserved: DeviceRecord, signal: AbortSignal): Promise<readonly string[]> {
    const { resource } = reserved;
    const plugin = this.#parts.stock.plugin(resource);
    const before = this.#chooseAgain(pod, reserved);
    if (before.kind !== 'open' || plugin?.options.getPreferredAllocationAvailable !== true)
      return this.#exchange(pod, reserved, before, []);
    const wait = { uid: pod.metadata.uid, resource, call: 'GetPreferredAllocation' } as const;
    const answer = this.#parts.waits.during(wait, plugin.preferred(before.question, signal));
    const preferred = await askPreference(answer, signal);
    signal.throwIfAborted();
    // Other containers may have got some of the preferred devices meanwhile.
    return this.#exchange(pod, reserved, this.#chooseAgain(pod, reserved), preferred);
  }

  #exchange(
    pod: Pod,
    reserved: DeviceRecord,
    choice: DeviceChoice,
    preferred: readonly string[],
  ): readonly string[] {
    if (choice.kind === 'refused') throw new StateletError('ResourceExhausted', choice.problem);
    if (choice.kind === 'held') return reserved.ids;
    const ids = chosenIds(choice, preferred);
    this.#record(pod, { ...reserved, ids });
    this.#reuseInstead(pod, reserved, new Set(ids));
    return ids;
  }

  /** Containers that were to reuse what the container does not get any more reuse what it gets, so that the pod holds no more than it needs. */
  #reuseInstead(pod: Pod, { resource, ids }: DeviceRecord, exchanged: ReadonlySet<string>): void {
    const lost = new Set(ids.filter((id) => !exchanged.has(id)));
    for (const later of this.#parts.records.setAside(pod.metadata.uid)) {
      if (later.resource !== resource || !later.ids.some((id) => lost.has(id))) continue;
      const choice = this.#chooseAgain(pod, later);
      if (choice.kind === 'chosen' || choice.kind === 'open')
        this.#record(pod, { ...later, ids: chosenIds(choice, []) });
    }
  }

  /** As if nothing were set aside for the container. */
  #chooseAgain(pod: Pod, reserved: DeviceRecord): DeviceChoice {
    const { records } = this.#parts;
    const { uid } = pod.metadata;
    records.drop(uid, reserved.container, reserved.resource);
    try {
      return this.#choose(pod, { ...reserved, count: reserved.ids.length }, reserved.ids);
    } finally {
      this.#record(pod, reserved);
    }
  }

  #choose(
    pod: Pod,
    request: Pick<DeviceRecord, 'container' | 'resource' | 'numaNodes'> & { readonly count: number },
    own: readonly string[] = [],
  ): DeviceChoice {
    const { stock, records } = this.#parts;
    const { container, resource, count, numaNodes } = request;
    const { uid } = pod.metadata;
    return chooseDevices({
      podUID: uid,
      container,
      resource,
      count,
      devices: stock.devices(resource),
      held: records.find(uid, container, resource)?.ids,
      reusable: records.reusable(pod, resource),
      allocated: new Set([...records.allocated(resource)].filter((id) => !own.includes(id))),
      numaNodes,
    });
  }

  #record(pod: Pod, record: Omit<DeviceRecord, 'byNode'>): void {
    const { stock, records } = this.#parts;
    records.set(pod.metadata.uid, record, stock.devices(record.resource) ?? new Map());
  }
}

type ChosenDevices = Exclude<DeviceChoice, { readonly kind: 'held' | 'refused' }>;

function chosenIds(choice: ChosenDevices, preferred: readonly string[]): readonly string[] {
  return choice.kind === 'chosen' ? choice.ids : withPreferred(choice.question, preferred);
}

async function askPreference(
  answer: Promise<readonly string[]>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  try {
    return await answer;
  } catch (error) {
    signal.throwIfAborted();
    const problem = `device plugin GetPreferredAllocation rpc failed with err: ${errorMessage(error)}`;
    throw new StateletError('Unknown', problem, { cause: error });
  }
}
