import type { EventRecorder, NodeEventRecorder } from '../../../types/event-recorder.ts';

type Recorder = EventRecorder & NodeEventRecorder;

/** Records each event with all of these, in their order. */
export class EventFanOut implements EventRecorder, NodeEventRecorder {
  readonly #recorders: Recorder[];

  constructor(...recorders: readonly Recorder[]) {
    this.#recorders = [...recorders];
  }

  /** For a recorder that is itself made with the context that has this one. */
  add(recorder: Recorder): void {
    this.#recorders.push(recorder);
  }

  event(...event: Parameters<EventRecorder['event']>): void {
    for (const recorder of this.#recorders) recorder.event(...event);
  }

  nodeEvent(...event: Parameters<NodeEventRecorder['nodeEvent']>): void {
    for (const recorder of this.#recorders) recorder.nodeEvent(...event);
  }
}
