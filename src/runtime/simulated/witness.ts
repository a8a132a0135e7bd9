import type { ContainerMetadata, ContainerStateName, PodSandboxMetadata } from '../../types/cri.ts';
import type { CallName } from './latencies.ts';

/** A call, from its beginning until it can have no effect any more. */
export interface CallUnderWay {
  readonly name: CallName;
  /** Of the pod that it is about; empty where it is about the whole node. */
  readonly uid: string;
  /** How many of its name this pod has had. */
  readonly ordinal: number;
  /** The id of the sandbox or container, or the image, that it names; a new container's name; else empty. */
  readonly target: string;
  /** How long a StopContainer lets its container go on. */
  readonly graceSeconds?: number | undefined;
  /** Of whose it is. */
  readonly connection: number;
  /** Unix milliseconds. */
  readonly beganAt: number;
  /** Nobody waits for it any more: it was given up, cut off, or not answered in time. */
  readonly abandoned: boolean;
  /** It has been carried out, at least so far that it cannot be stopped from having an effect. */
  readonly landed: boolean;
}

/** A sandbox as it really is. Times are Unix milliseconds. */
export interface SandboxTruth {
  readonly id: string;
  readonly uid: string;
  readonly metadata: PodSandboxMetadata;
  readonly createdAt: number;
  readonly ready: boolean;
  readonly containers: readonly ContainerTruth[];
}

/** A container as it really is. Times are Unix milliseconds, 0 while it has not happened. */
export interface ContainerTruth {
  readonly id: string;
  readonly uid: string;
  readonly metadata: ContainerMetadata;
  readonly image: string;
  readonly state: ContainerStateName;
  readonly createdAt: number;
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly exitCode: number;
  readonly reason: string;
}

/**
 * Sees everything at the moment at which it happens; may look at the runtime, and must not change it. `connection` is
 * undefined of what nobody asked for.
 */
export interface RuntimeWitness {
  callBegan?(call: CallUnderWay): void;
  /** What the caller is told: `done`, the kind of the error, or `cut` where it is told nothing. */
  callEnded?(call: CallUnderWay, outcome: string): void;
  /** A call that nobody waits for any more has had its effect. */
  callLanded?(call: CallUnderWay): void;
  sandboxStarted?(sandbox: SandboxTruth, connection: number | undefined): void;
  sandboxEnded?(sandbox: SandboxTruth, connection: number | undefined): void;
  containerStarted?(container: ContainerTruth, connection: number | undefined): void;
  containerEnded?(container: ContainerTruth, connection: number | undefined): void;
}
