/** Whom an event is about. */
export interface PodReference {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

/** Where events on pods go: to the log, and to the API server where there is one. Reasons are the kubelet's own. */
export interface EventRecorder {
  event(pod: PodReference, type: 'Normal' | 'Warning', reason: string, message: string): void;
}

/** Where events on the node go. */
export interface NodeEventRecorder {
  nodeEvent(type: 'Normal' | 'Warning', reason: string, message: string): void;
}
