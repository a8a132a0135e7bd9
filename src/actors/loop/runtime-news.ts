import type { SupervisorEvent } from '../../machines/supervisor-machine.ts';
import type { Clock } from '../../types/clock.ts';
import type { Logger } from '../../types/logger.ts';
import { inTurns } from '../pods/in-turns.ts';
import type { PodRegistry } from '../pods/pod-registry.ts';

export interface RuntimeNewsOptions {
  readonly registry: PodRegistry;
  readonly clock: Clock;
  readonly logger: Logger;
  /** To the loop. */
  readonly send: (event: SupervisorEvent) => void;
}

/** Tells pods, and people, whether the container runtime is ready. */
export class RuntimeNews {
  readonly #options: RuntimeNewsOptions;

  constructor(options: RuntimeNewsOptions) {
    this.#options = options;
  }

  /** `problem`: undefined where the runtime is ready. */
  log(problem: string | undefined): void {
    const { logger } = this.#options;
    if (problem === undefined) logger.info({}, 'Container runtime is ready');
    else logger.warn({ problem }, 'Container runtime is not ready');
  }

  tellReady(uid: string): void {
    this.#options.registry.send(uid, { type: 'RUNTIME_READY' });
  }

  tellProblem(uid: string, problem = 'it has not been asked yet'): void {
    this.#options.registry.send(uid, { type: 'RUNTIME_NOT_READY', problem });
  }

  tellStartingPods(problem: string): void {
    for (const { pod, actor } of [...this.#options.registry.entries()])
      if (actor.getSnapshot().hasTag('starting')) this.tellProblem(pod.uid, problem);
  }

  /** The runtime is ready, and may have been away: pods that wait for it go on, all others look at what it holds. */
  resumeAllPods(): void {
    const { registry, clock, send } = this.#options;
    const pods = Array.from(registry.entries(), ({ pod }) => pod);
    inTurns(clock, pods, ({ uid }) => {
      const snapshot = registry.get(uid)?.actor.getSnapshot();
      // It may have been lost again since the first turn; when it is back, all pods are told again.
      if (snapshot?.hasTag('starting') === true) send({ type: 'RUNTIME_AWAITED', uid });
      else send({ type: 'SYNC', uids: [uid] });
    });
  }
}
