/** Removes dead containers and unused images of a simulated node, with the collectors of the daemon. */
import type { NodeReclaim } from '../../agent/policies/eviction/file-system-parts.ts';
import { ContainerGC } from '../../agent/runtime/garbage/container-gc.ts';
import { ImageGC } from '../../agent/runtime/garbage/image-gc.ts';
import type { NodeReclaimer, NodeView } from '../../agent/runtime/node/pod-node.ts';
import type { SimulatedConnection } from '../runtime/simulated-connection.ts';
import type { Clock } from '../../types/clock.ts';
import { StateletError } from '../../types/errors.ts';
import type { NodeEventRecorder } from '../../types/event-recorder.ts';
import type { Logger } from '../../types/logger.ts';

/** The kubelet's defaults. */
const CONTAINER_POLICY = { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 };
const IMAGE_POLICY = { highThresholdPercent: 85, lowThresholdPercent: 80, minAgeMs: 120_000, maxAgeMs: 0 };

export interface SimulatedReclaimerOptions {
  readonly runtime: SimulatedConnection;
  readonly clock: Clock;
  readonly recorder: NodeEventRecorder;
  readonly logger: Pick<Logger, 'debug' | 'info' | 'warn'>;
  /** A removal begins. Returns a function to call when it is over, whether or not it succeeded. */
  readonly onReclaim: (what: NodeReclaim) => () => void;
}

export class SimulatedReclaimer implements NodeReclaimer {
  readonly connection: SimulatedConnection;
  readonly #options: SimulatedReclaimerOptions;
  readonly #images: ImageGC;
  #containers: ContainerGC | undefined;

  constructor(options: SimulatedReclaimerOptions) {
    const { runtime, clock, recorder, logger } = options;
    this.#options = options;
    this.connection = runtime;
    this.#images = new ImageGC({ ...IMAGE_POLICY, runtime, clock, recorder, logger, statfs: notAsked });
  }

  /** Like the daemon: dead containers of a pod that goes on are kept, because their exit codes are still needed. */
  start({ isPodTerminated }: NodeView): void {
    const { runtime, clock, logger } = this.#options;
    const policy = CONTAINER_POLICY;
    this.#containers = new ContainerGC({ runtime, clock, logger, policy, isPodRemovable: isPodTerminated });
    // This only records which images there are. If it fails, the removal of images records them.
    this.#images.detect().catch(() => undefined);
  }

  deleteDeadContainers(): Promise<void> {
    return this.#reclaimed('containers', async () => this.#containers?.collect());
  }

  deleteUnusedImages(): Promise<void> {
    return this.#reclaimed('images', () => this.#images.deleteUnusedImages());
  }

  async #reclaimed(what: NodeReclaim, work: () => Promise<unknown>): Promise<void> {
    const ended = this.#options.onReclaim(what);
    try {
      await work();
    } finally {
      ended();
    }
  }
}

function notAsked(): Promise<never> {
  return Promise.reject(new StateletError('Internal', 'how full a disk is makes no difference here'));
}
