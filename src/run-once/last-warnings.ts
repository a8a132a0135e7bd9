import type { EventRecorder, NodeEventRecorder } from '../types/event-recorder.ts';

/** Passes events on, and keeps the last warning of each pod: container statuses do not hold the cause of every failure. */
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
