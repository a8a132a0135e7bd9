import { isTerminalPhase } from '../../policies/termination/pod-termination.ts';
import type { PodReference } from '../../types/event-recorder.ts';
import { type Logger, podFields } from '../../types/logger.ts';
import type { PodEnds } from '../pods/pod-ends.ts';
import type { PodRegistry } from '../pods/pod-registry.ts';
import type { PodRetirement } from '../pods/pod-retirement.ts';
import type { StatusManager } from '../pods/status-manager.ts';
import type { PodStarts } from '../start/pod-starts.ts';

export interface PodReportsOptions {
  readonly registry: PodRegistry;
  readonly starts: PodStarts;
  readonly ends: PodEnds;
  readonly retirement: PodRetirement;
  readonly statusManager: Pick<StatusManager, 'get'>;
  readonly logger: Logger;
}

/** Takes the pods' own reports of their ends. Name and room are given on before other parts hear of it. */
export class PodReports {
  readonly #options: PodReportsOptions;

  constructor(options: PodReportsOptions) {
    this.#options = options;
  }

  terminated(uid: string): void {
    const { registry, starts, ends } = this.#options;
    const entry = registry.get(uid);
    if (entry === undefined) return;
    starts.ended(entry.pod);
    ends.tell(entry.pod, 'Terminated');
  }

  finished(uid: string, restartRequested: boolean): void {
    const { registry, ends, retirement } = this.#options;
    const entry = registry.get(uid);
    if (entry === undefined) return;
    this.#log(entry.pod);
    ends.tell(entry.pod, 'Finished');
    retirement.finished(uid, restartRequested);
  }

  #log(pod: PodReference): void {
    const { statusManager, logger } = this.#options;
    const { phase, reason } = statusManager.get(pod.uid) ?? {};
    const how = isTerminalPhase(phase) ? [phase, reason && `(${reason})`] : ['stopped'];
    logger.info(podFields(pod), `Finished: ${how.filter(Boolean).join(' ')}`);
  }
}
