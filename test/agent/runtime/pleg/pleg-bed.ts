/** A pod lifecycle event generator on a real runtime. A test controls its clock, its reads and its hints. */
import { NEVER } from 'rxjs';
import { Pleg } from '../../../../src/agent/runtime/pleg/pleg.ts';
import type { RuntimeService } from '../../../../src/agent/runtime/service/runtime-service.ts';
import type { ContainerEvent } from '../../../../src/types/cri.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { testContext } from '../../../support/test-context.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { podBed, podOf, shell } from '../pods/pod-bed.ts';
import { ToldChanges } from './told-changes.ts';

/** A runtime without events. */
export const DEAF: Partial<RuntimeService> = { containerEvents: () => NEVER };

export class PlegBed {
  readonly #bed = podBed();
  readonly #plegs: Pleg[] = [];
  readonly runtime = this.#bed.runtime;
  /** Another client of the same runtime. Its calls are not counted as those of the generator. */
  readonly other = this.#bed.connect();
  /** It stands still, so an event is never older than the last read. */
  clock = new VirtualClock(Date.now());
  readonly told = new ToldChanges();
  /** The number of periodic relists that have ended. */
  relists = 0;

  readonly run = this.#bed.run;

  create(more: Partial<RuntimeService> = {}): Pleg {
    const runtime = { ...this.runtime, ...more };
    const pleg = new Pleg(testContext({ clock: this.clock }), runtime, (relist) => {
      const count = () => void (this.relists += 1);
      relist.then(count, count);
    });
    this.#plegs.push(pleg);
    this.told.listen(pleg);
    return pleg;
  }

  /** Starts the generator and runs the first relist. Further relists run only when the test advances the clock. */
  async started(more: Partial<RuntimeService> = {}): Promise<Pleg> {
    const pleg = this.create(more);
    await pleg.relist();
    pleg.start();
    this.told.clear();
    return pleg;
  }

  async runPod(): Promise<{ pod: Pod; uid: string; id: string; sandboxId: string }> {
    const pod = podOf({ containers: [shell('main', 'sleep 1000')] });
    const { sandboxes, containers } = await this.run(pod);
    return { pod, uid: pod.metadata.uid, id: containers[0]!.id, sandboxId: sandboxes[0]!.id };
  }

  untilTold(uid: string, change: string): Promise<boolean> {
    return waitFor(() => this.told.of(uid).includes(change), { what: change });
  }

  /** Stops the container; resolves when the generator has received the event of its end. */
  async stopHeard(id: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const subscription = this.runtime.containerEvents().subscribe((event) => {
      if (event.containerId === id && event.containerEventType === 'CONTAINER_STOPPED_EVENT')
        resolve(undefined);
    });
    await this.other.stopContainer(id, 1);
    await promise;
    subscription.unsubscribe();
  }

  /** An event of the runtime, `laterMs` after the present time of the clock. */
  hint({ metadata }: Pod, containerId: string, laterMs = 1): ContainerEvent {
    return {
      containerId,
      containerEventType: 'CONTAINER_STOPPED_EVENT',
      createdAt: (this.clock.now() + laterMs) * 1e6,
      podSandboxMetadata: { ...metadata, attempt: 0 },
    };
  }

  /** Counts the real reads. A test can let a read fail or wait. */
  reads() {
    const it = {
      count: 0,
      failing: 0,
      gate: Promise.resolve(),
      runtime: {
        podSandboxStatus: async (...args: Parameters<RuntimeService['podSandboxStatus']>) => {
          it.count += 1;
          await it.gate;
          if (it.failing > 0) {
            it.failing -= 1;
            throw new StateletError('Unavailable', 'the read failed');
          }
          return this.runtime.podSandboxStatus(...args);
        },
      } satisfies Partial<RuntimeService>,
    };
    return it;
  }

  /** Cleans up after a test. */
  async reset(): Promise<void> {
    for (const pleg of this.#plegs.splice(0)) pleg.stop();
    for (const { id } of await this.other.listPodSandbox()) await this.other.removePodSandbox(id);
    this.clock = new VirtualClock(Date.now());
    this.told.clear();
    this.relists = 0;
  }

  async cleanup(): Promise<void> {
    await this.#bed.cleanup();
  }
}
