import type { EventRecorder, PodReference } from '../types/event-recorder.ts';

/** Passes events on, and keeps of each pod the last that went wrong: what no container's status tells. */
export class LastWarnings implements EventRecorder {
  readonly #recorder: EventRecorder;
  readonly #warnings = new Map<string, string>();

  constructor(recorder: EventRecorder) {
    this.#recorder = recorder;
  }

  event(pod: PodReference, type: 'Normal' | 'Warning', reason: string, message: string): void {
    if (type === 'Warning') this.#warnings.set(pod.uid, `${reason}: ${message}`);
    this.#recorder.event(pod, type, reason, message);
  }

  of(uid: string): string | undefined {
    return this.#warnings.get(uid);
  }
}
