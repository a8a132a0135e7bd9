/** Whom an event is about. */
export interface PodReference {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

/** Where events on pods go: to the log, and to the API server where there is one. Reasons are the kubelet's own. */
export interface EventRecorder {
  event(
    pod: PodReference,
    type: 'Normal' | 'Warning',
    reason: string,
    message: string,
    about?: ContainerReference,
  ): void;
}

/** Which container of the pod, and which instance of it, where that is known. */
export interface ContainerReference {
  readonly container: string;
  readonly attempt?: number;
}

/** Where events on the node go. */
export interface NodeEventRecorder {
  nodeEvent(type: 'Normal' | 'Warning', reason: string, message: string): void;
}
