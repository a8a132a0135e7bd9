/** The pod that an event is about. */
export interface PodReference {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

/** Records events about pods. The reasons are those of the kubelet. */
export interface EventRecorder {
  event(
    pod: PodReference,
    type: 'Normal' | 'Warning',
    reason: string,
    message: string,
    about?: ContainerReference,
  ): void;
}

/** The container that an event is about, and its attempt where that is known. */
export interface ContainerReference {
  readonly container: string;
  readonly attempt?: number;
}

export interface NodeEventRecorder {
  nodeEvent(type: 'Normal' | 'Warning', reason: string, message: string): void;
}
