export interface CallOptions {
  /** Gives the call up. The runtime may still carry it out: read the pod before acting on it again. */
  readonly signal?: AbortSignal;
}
