import type {
  ContainerMetadata,
  ContainerStateName,
  KeyValue,
  LinuxContainerResources,
  PodSandboxMetadata,
} from '../../types/cri.ts';
import type { CallName } from './chance.ts';

/** A call, from its beginning until it can have no more effect. */
export interface CallUnderWay {
  readonly name: CallName;
  /** The pod that the call is about; empty for a call about the whole node. */
  readonly uid: string;
  /** Its number among the calls of this name about this pod, from 1. */
  readonly ordinal: number;
  /** The id of the sandbox or container, the image, or the name of the container to be created; else empty. */
  readonly target: string;
  /** The grace period of a StopContainer. */
  readonly graceSeconds?: number | undefined;
  /** The connection that it came from. */
  readonly connection: number;
  /** Unix milliseconds. */
  readonly beganAt: number;
  /** Its caller waits no longer: it has given up, its process is gone, or the deadline is over. */
  readonly abandoned: boolean;
  /** It has been carried out, at least so far that its effect cannot be prevented. */
  readonly landed: boolean;
}

/** The true state of a sandbox. Times are Unix milliseconds. */
export interface SandboxTruth {
  readonly id: string;
  readonly uid: string;
  readonly metadata: PodSandboxMetadata;
  readonly createdAt: number;
  readonly ready: boolean;
  readonly containers: readonly ContainerTruth[];
}

/** The true state of a container. Times are Unix milliseconds; 0: not yet. */
export interface ContainerTruth {
  readonly id: string;
  readonly uid: string;
  readonly metadata: ContainerMetadata;
  readonly image: string;
  readonly envs: readonly KeyValue[];
  readonly resources: LinuxContainerResources | undefined;
  readonly state: ContainerStateName;
  readonly createdAt: number;
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly exitCode: number;
  readonly reason: string;
}

/** A command in a container that has ended. */
export interface CommandTruth {
  readonly container: ContainerTruth;
  readonly words: readonly string[];
  readonly exitCode: number;
}

/**
 * Is called at the moment of each event. It may read the runtime, and must not change it. `connection` is undefined
 * if no call caused the event.
 */
export interface RuntimeWitness {
  callBegan?(call: CallUnderWay): void;
  /** `outcome`: `done`, the kind of the error, or `cut` if the caller is not answered. */
  callEnded?(call: CallUnderWay, outcome: string): void;
  /** A call that its caller has given up has had its effect. */
  callLanded?(call: CallUnderWay): void;
  /** The command has ended by itself. Not called if it is killed with its container or at its time limit. */
  commandEnded?(command: CommandTruth): void;
  sandboxStarted?(sandbox: SandboxTruth, connection: number | undefined): void;
  sandboxEnded?(sandbox: SandboxTruth, connection: number | undefined): void;
  containerStarted?(container: ContainerTruth, connection: number | undefined): void;
  containerEnded?(container: ContainerTruth, connection: number | undefined): void;
}
