/** Attaches the volumes of the plan's drivers to hollow nodes, as the external-attacher of each driver would. */
import type { Subscription } from 'rxjs';
import { hasReason } from '../../agent/cluster/service/api-error.ts';
import type { ApiServer } from '../../agent/cluster/service/api-server.ts';
import { reflect, type WatchContext } from '../../agent/cluster/watches/reflect.ts';
import type { KeyedRandom } from '../../simulation/resources/growth.ts';
import { within } from '../../simulation/runtime/chance.ts';
import { sleep } from '../../system/timer.ts';
import { untilDone } from '../../system/until-done.ts';
import { StateletError } from '../../types/errors.ts';
import type { VolumeAttachment } from '../../types/kubernetes.ts';
import type { HollowCsiDriver } from '../plan/hollow-csi.ts';
import type { RequestGate } from './request-gate.ts';
import { SharedCollection } from './shared-collection.ts';

export interface AttacherParts {
  readonly api: ApiServer;
  readonly gate: RequestGate;
  readonly drivers: readonly HollowCsiDriver[];
  /** Whether a node of that name is one of this process. */
  readonly isOwn: (nodeName: string) => boolean;
  readonly random: KeyedRandom;
}

/** Those of the external-attacher. */
const RETRY = { firstMs: 1_000, mostMs: 300_000 };
const READER = 'attacher';

export class Attacher {
  readonly #context: WatchContext;
  readonly #parts: AttacherParts;
  readonly #drivers: ReadonlyMap<string, HollowCsiDriver>;
  readonly #collection: SharedCollection<VolumeAttachment>;
  readonly #events: Subscription;
  /** By the name of the object. */
  readonly #underWay = new Map<string, AbortController>();

  constructor(context: WatchContext, parts: AttacherParts) {
    this.#context = context;
    this.#parts = parts;
    const own = parts.drivers.filter(({ isAttaching }) => isAttaching);
    this.#drivers = new Map(own.map((driver) => [driver.name, driver]));
    this.#collection = new SharedCollection<VolumeAttachment>({
      open: (store) => reflect(parts.api, { resource: 'volumeattachments' }, { ...context, store }),
      readerOf: ({ spec }) =>
        this.#drivers.has(spec.attacher) && parts.isOwn(spec.nodeName) ? READER : undefined,
    });
    this.#events = this.#collection
      .watch(READER, { resourceVersion: '0' })
      .subscribe(({ type, object }) => this.#take(object, type === 'DELETED'));
  }

  close(): void {
    this.#events.unsubscribe();
    this.#collection.close();
    for (const attaching of this.#underWay.values()) attaching.abort();
    this.#underWay.clear();
  }

  #take({ metadata, spec, status }: VolumeAttachment, isGone: boolean): void {
    const name = metadata?.name ?? '';
    const driver = this.#drivers.get(spec.attacher);
    const isEnding = isGone || metadata?.deletionTimestamp !== undefined;
    if (isEnding || status?.attached === true || driver === undefined) {
      this.#underWay.get(name)?.abort();
      this.#underWay.delete(name);
    } else if (!this.#underWay.has(name)) this.#attach(name, driver);
  }

  #attach(name: string, driver: HollowCsiDriver): void {
    const { clock, logger } = this.#context;
    const attaching = new AbortController();
    this.#underWay.set(name, attaching);
    const { signal } = attaching;
    let attempt = 0;
    const onFailure = (problem: string) =>
      logger.debug({ attachment: name }, `Cannot attach the volume: ${problem}`);
    untilDone(clock, () => this.#try(name, driver, ++attempt, signal), { ...RETRY, signal, onFailure })
      .then(() => {
        if (!signal.aborted) this.#underWay.delete(name);
      })
      .catch(() => undefined);
  }

  /** Rejects where the driver or the API server fails. */
  async #try(name: string, driver: HollowCsiDriver, attempt: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#context;
    const drawn = (what: string) => this.#parts.random(`attach/${name}/${String(attempt)}/${what}`);
    await sleep(clock, within(driver.calls.ControllerPublishVolume, drawn('ms')), signal);
    if (drawn('fails') >= driver.callFailures) {
      await this.#write(name, { attached: true, attachError: null });
      return;
    }
    const message = 'rpc error: code = Unavailable desc = the driver fails, by plan';
    await this.#write(name, { attachError: { message, time: new Date(clock.now()).toISOString() } });
    throw new StateletError('Unavailable', message);
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
