/** Attaches the volumes of the plan's drivers to hollow nodes, as the external-attacher of each driver would. */
import type { Subscription } from 'rxjs';
import { hasReason } from '../../agent/cluster/service/api-error.ts';
import type { ApiServer } from '../../agent/cluster/service/api-server.ts';
import { keyOf } from '../../agent/cluster/watches/object-store.ts';
import type { WatchContext } from '../../agent/cluster/watches/reflect.ts';
import type { KeyedRandom } from '../../simulation/resources/growth.ts';
import { errorMessage } from '../../types/errors.ts';
import type { VolumeAttachment } from '../../types/kubernetes.ts';
import type { HollowCsiDriver } from '../plan/hollow-csi.ts';
import { followObjects } from './follow-objects.ts';
import { PlannedCalls } from './planned-calls.ts';
import type { RequestGate } from './request-gate.ts';

export interface AttacherParts {
  readonly api: ApiServer;
  readonly gate: RequestGate;
  readonly drivers: readonly HollowCsiDriver[];
  /** Whether a node of that name is one of this process. */
  readonly isOwn: (nodeName: string) => boolean;
  readonly random: KeyedRandom;
}

export class Attacher {
  readonly #context: WatchContext;
  readonly #parts: AttacherParts;
  readonly #drivers: ReadonlyMap<string, HollowCsiDriver>;
  readonly #watch: Subscription;
  readonly #calls: PlannedCalls;

  constructor(context: WatchContext, parts: AttacherParts) {
    this.#context = context;
    this.#parts = parts;
    this.#calls = new PlannedCalls(context, (key) => parts.random(`attach/${key}`));
    const own = parts.drivers.filter(({ isAttaching }) => isAttaching);
    this.#drivers = new Map(own.map((driver) => [driver.name, driver]));
    this.#watch = followObjects<VolumeAttachment>(context, parts.api, 'volumeattachments', {
      take: (attachment) => this.#take(attachment),
      forget: (key) => this.#calls.end(key),
      known: () => this.#calls.underWay(),
    });
  }

  close(): void {
    this.#watch.unsubscribe();
    this.#calls.endAll();
  }

  #take(attachment: VolumeAttachment): void {
    const { metadata, spec, status } = attachment;
    const key = keyOf(attachment);
    const driver = this.#parts.isOwn(spec.nodeName) ? this.#drivers.get(spec.attacher) : undefined;
    const isEnding = metadata?.deletionTimestamp !== undefined;
    if (isEnding || status?.attached === true || driver === undefined) this.#calls.end(key);
    else if (!this.#calls.isUnderWay(key)) this.#attach(key, metadata?.name ?? '', driver);
  }

  #attach(key: string, name: string, { calls, callFailures: failures }: HollowCsiDriver): void {
    this.#calls.begin(key, async (call, signal) => {
      try {
        await call({ ms: calls.ControllerPublishVolume, failures });
      } catch (error) {
        signal.throwIfAborted();
        const time = new Date(this.#context.clock.now()).toISOString();
        await this.#write(name, { attachError: { message: errorMessage(error), time } });
        throw error;
      }
      await this.#write(name, { attached: true, attachError: null });
    });
  }

  /** An attachment that is gone needs nothing more. */
  async #write(name: string, status: object): Promise<void> {
    const { api, gate } = this.#parts;
    const target = { resource: 'volumeattachments', name, subresource: 'status' } as const;
    try {
      await gate.pass('main', () => api.patch(target, { status }));
    } catch (error) {
      if (!hasReason(error, 'NotFound')) throw error;
    }
  }
}
