/** Removes dead containers and unused images of a simulated node, with the collectors of the daemon. */
import type { NodeReclaim } from '../../agent/policies/eviction/file-system-parts.ts';
import { ContainerGC } from '../../agent/runtime/garbage/container-gc.ts';
import { ImageGC } from '../../agent/runtime/garbage/image-gc.ts';
import type { NodeReclaimer, NodeView } from '../../agent/runtime/node/pod-node.ts';
import type { SimulatedConnection } from '../runtime/simulated-connection.ts';
import type { AgentContext } from '../../types/agent-context.ts';
import { StateletError } from '../../types/errors.ts';

/** The kubelet's defaults. */
const CONTAINER_POLICY = { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 };
const IMAGE_POLICY = { highThresholdPercent: 85, lowThresholdPercent: 80, minAgeMs: 120_000, maxAgeMs: 0 };

export class SimulatedReclaimer implements NodeReclaimer {
  readonly connection: SimulatedConnection;
  readonly #context: AgentContext;
  readonly #onReclaim: (what: NodeReclaim) => () => void;
  readonly #images: ImageGC;
  #containers: ContainerGC | undefined;

  /** `onReclaim`: a removal begins. Returns a function to call when it is over, whether or not it succeeded. */
  constructor(
    context: AgentContext,
    runtime: SimulatedConnection,
    onReclaim: (what: NodeReclaim) => () => void,
  ) {
    this.#context = context;
    this.#onReclaim = onReclaim;
    this.connection = runtime;
    this.#images = new ImageGC(context, { ...IMAGE_POLICY, runtime, statfs: notAsked });
  }

  /** Like the daemon: dead containers of a pod that goes on are kept, because their exit codes are still needed. */
  start({ isPodTerminated }: NodeView): void {
    const parts = { runtime: this.connection, policy: CONTAINER_POLICY, isPodRemovable: isPodTerminated };
    this.#containers = new ContainerGC(this.#context, parts);
    // This only records which images exist. If it fails, the removal of images records them.
    this.#images.detect().catch(() => undefined);
  }

  deleteDeadContainers(): Promise<void> {
    return this.#reclaimed('containers', async () => this.#containers?.collect());
  }

  deleteUnusedImages(): Promise<void> {
    return this.#reclaimed('images', () => this.#images.deleteUnusedImages());
  }

  async #reclaimed(what: NodeReclaim, work: () => Promise<unknown>): Promise<void> {
    const ended = this.#onReclaim(what);
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
