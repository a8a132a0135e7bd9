import type { EventRecorder, NodeEventRecorder } from '../../types/event-recorder.ts';

type Recorder = EventRecorder & NodeEventRecorder;

/** Records each event with all of these, in their order. */
export function eventFanOut(...recorders: readonly Recorder[]): Recorder {
  return {
    event: (...event) => recorders.forEach((recorder) => recorder.event(...event)),
    nodeEvent: (...event) => recorders.forEach((recorder) => recorder.nodeEvent(...event)),
  };
}
