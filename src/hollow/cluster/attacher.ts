/** Attaches the volumes of the plan's drivers to hollow nodes, as the external-attacher of each driver would. */
import type { Subscription } from 'rxjs';
import { hasReason } from '../../agent/cluster/service/api-error.ts';
import type { ApiServer } from '../../agent/cluster/service/api-server.ts';
import { reflect, type WatchContext } from '../../agent/cluster/watches/reflect.ts';
import type { KeyedRandom } from '../../simulation/resources/growth.ts';
import { within } from '../../simulation/runtime/chance.ts';
import { Timer } from '../../system/timer.ts';
import { errorMessage } from '../../types/errors.ts';
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
const RETRY_MS = 1_000;
const RETRY_MS_MAX = 300_000;
const READER = 'attacher';
const DEFAULT_MS = [0, 0] as const;

export class Attacher {
  readonly #context: WatchContext;
  readonly #parts: AttacherParts;
  readonly #drivers: ReadonlyMap<string, HollowCsiDriver>;
  readonly #collection: SharedCollection<VolumeAttachment>;
  readonly #events: Subscription;
  /** By the name of the object. */
  readonly #underWay = new Map<string, Timer>();

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
    for (const timer of this.#underWay.values()) timer.disarm();
    this.#underWay.clear();
  }

  #take({ metadata, spec, status }: VolumeAttachment, isGone: boolean): void {
    const name = metadata?.name ?? '';
    const driver = this.#drivers.get(spec.attacher);
    const isEnding = isGone || metadata?.deletionTimestamp !== undefined;
    if (isEnding || status?.attached === true || driver === undefined) {
      this.#underWay.get(name)?.disarm();
      this.#underWay.delete(name);
    } else if (!this.#underWay.has(name)) this.#attach(name, driver, 1);
  }

  #attach(name: string, driver: HollowCsiDriver, attempt: number): void {
    const timer = new Timer(this.#context.clock);
    this.#underWay.set(name, timer);
    const drawn = (what: string) => this.#parts.random(`attach/${name}/${String(attempt)}/${what}`);
    const callMs = within(driver.calls.ControllerPublishVolume ?? DEFAULT_MS, drawn('ms'));
    const pauseMs = attempt === 1 ? 0 : Math.min(RETRY_MS * 2 ** (attempt - 2), RETRY_MS_MAX);
    const fails = drawn('fails') < driver.callFailures;
    timer.arm(
      pauseMs + callMs,
      () =>
        void this.#write(name, fails).then((isDone) => {
          // The volume may have been detached meanwhile.
          if (this.#underWay.get(name) !== timer) return;
          if (isDone) this.#underWay.delete(name);
          else this.#attach(name, driver, attempt + 1);
        }),
    );
  }

  /** Resolves to whether nothing more is to be done. Never rejects. */
  async #write(name: string, fails: boolean): Promise<boolean> {
    const { api, gate } = this.#parts;
    const { clock, logger } = this.#context;
    const time = new Date(clock.now()).toISOString();
    const status = fails
      ? { attachError: { message: 'rpc error: code = Unavailable desc = the driver fails, by plan', time } }
      : { attached: true, attachError: null };
    const target = { resource: 'volumeattachments', name, subresource: 'status' } as const;
    try {
      await gate.pass('main', () => api.patch(target, { status }));
      return !fails;
    } catch (error) {
      logger.debug({ attachment: name }, `cannot write the attachment: ${errorMessage(error)}`);
      return hasReason(error, 'NotFound');
    }
  }
}
