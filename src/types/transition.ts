/** One transition of one actor, as the flight recorder and the page see it. It holds no value of an environment variable or a secret. */
export interface Transition {
  /** Unix milliseconds. */
  readonly atMs: number;
  /** The name of the chart, as `statelet charts` prints it: `pod`. */
  readonly chart: string;
  /** Of the actor, in its system: `web_default UID`, `eviction`. */
  readonly actor: string;
  /** The type of the event: `SyncPodUpdate`. */
  readonly event: string;
  /** `Syncing.Settled`; regions of a parallel state with commas between. */
  readonly from: string;
  readonly to: string;
  /** The guard that decided, where there was one; of a parallel state's regions with commas between. */
  readonly guard?: string;
  /** The named actions that ran, those that only change the context too. */
  readonly actions: readonly string[];
  /** What the event said beside its type, without what is secret. Only the flight recorder has it, and not of every event. */
  readonly data?: Readonly<Record<string, unknown>>;
}

/** What is the same of many transitions. Equal ones are mostly one object, so that what is derived from it can be kept. */
export type TransitionKind = Omit<Transition, 'atMs' | 'actor' | 'data'>;

/** Of an actor, before or after a step. */
export interface ActorSnapshot {
  readonly value: unknown;
  readonly context: unknown;
}

/**
 * What a transition was made of. Events and contexts hold pods with the values of their environment: a listener keeps and sends nothing
 * of them that is not redacted.
 */
export interface ActorStep {
  /** With what it says beside its type. */
  readonly event: { readonly type: string };
  readonly before: ActorSnapshot;
  readonly after: ActorSnapshot;
}

export type TransitionListener = (kind: TransitionKind, actor: string, atMs: number, step: ActorStep) => void;
