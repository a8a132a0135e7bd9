import type { EventRecorder, NodeEventRecorder } from '../types/event-recorder.ts';

/** Passes events on, and keeps of each pod the last that went wrong: what no container's status tells. */
export class LastWarnings implements EventRecorder, NodeEventRecorder {
  readonly #recorder: EventRecorder & NodeEventRecorder;
  readonly #warnings = new Map<string, string>();

  constructor(recorder: EventRecorder & NodeEventRecorder) {
    this.#recorder = recorder;
  }

  event(...event: Parameters<EventRecorder['event']>): void {
    const [pod, type, reason, message] = event;
    if (type === 'Warning') this.#warnings.set(pod.uid, `${reason}: ${message}`);
    this.#recorder.event(...event);
  }

  nodeEvent(...event: Parameters<NodeEventRecorder['nodeEvent']>): void {
    this.#recorder.nodeEvent(...event);
  }

  of(uid: string): string | undefined {
    return this.#warnings.get(uid);
  }
}
