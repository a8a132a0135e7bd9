/** Removes dead containers and unused images of a simulated node, with the collectors of the daemon. */
import type { NodeReclaim } from '../../agent/policies/eviction/file-system-parts.ts';
import { ContainerGC } from '../../agent/runtime/garbage/container-gc.ts';
import {
  type GarbageCollector,
  startGarbageCollection,
} from '../../agent/runtime/garbage/garbage-collector.ts';
import { ImageGC, type ImageGCParts } from '../../agent/runtime/garbage/image-gc.ts';
import type { NodeReclaimer, NodeView } from '../../agent/runtime/node/pod-node.ts';
import type { SimulatedConnection } from '../runtime/simulated-connection.ts';
import type { AgentContext } from '../../types/agent-context.ts';
import { StateletError } from '../../types/errors.ts';

/** The kubelet's defaults. */
const CONTAINER_POLICY = { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 };
const IMAGE_POLICY = { highThresholdPercent: 85, lowThresholdPercent: 80, minAgeMs: 120_000, maxAgeMs: 0 };

export interface SimulatedReclaimerOptions {
  /** A removal begins. Returns a function to call when it is over, whether or not it succeeded. */
  readonly onReclaim?: (what: NodeReclaim) => () => void;
  /** With it, garbage is also collected from time to time. By default it is only when the disk is short. */
  readonly images?: Required<Pick<ImageGCParts, 'statfs' | 'onRemoved'>>;
}

export class SimulatedReclaimer implements NodeReclaimer {
  readonly connection: SimulatedConnection;
  readonly #context: AgentContext;
  readonly #options: SimulatedReclaimerOptions;
  readonly #images: ImageGC;
  #containers: ContainerGC | undefined;
  #garbage: GarbageCollector | undefined;

  constructor(context: AgentContext, runtime: SimulatedConnection, options: SimulatedReclaimerOptions) {
    this.#context = context;
    this.#options = options;
    this.connection = runtime;
    const images = options.images ?? { statfs: notAsked };
    this.#images = new ImageGC(context, { ...IMAGE_POLICY, runtime, ...images });
  }

  /** Like the daemon: dead containers of a pod that goes on are kept, because their exit codes are still needed. */
  start({ isPodTerminated, isPodRemovable }: NodeView): void {
    this.#containers = this.#containerGC(isPodTerminated);
    if (this.#options.images) {
      const dead = this.#containerGC(isPodRemovable);
      this.#garbage = startGarbageCollection(this.#context, dead, this.#images);
      return;
    }
    // This only records which images exist. If it fails, the removal of images records them.
    this.#images.detect().catch(() => undefined);
  }

  async stop(): Promise<void> {
    await this.#garbage?.stop();
  }

  deleteDeadContainers(): Promise<void> {
    return this.#reclaimed('containers', async () => this.#containers?.collect());
  }

  deleteUnusedImages(): Promise<void> {
    return this.#reclaimed('images', () => this.#images.deleteUnusedImages());
  }

  #containerGC(isPodRemovable: NodeView['isPodRemovable']): ContainerGC {
    const parts = { runtime: this.connection, policy: CONTAINER_POLICY, isPodRemovable };
    return new ContainerGC(this.#context, parts);
  }

  async #reclaimed(what: NodeReclaim, work: () => Promise<unknown>): Promise<void> {
    const ended = this.#options.onReclaim?.(what);
    try {
      await work();
    } finally {
      ended?.();
    }
  }
}

function notAsked(): Promise<never> {
  return Promise.reject(new StateletError('Internal', 'how full a disk is makes no difference here'));
}
