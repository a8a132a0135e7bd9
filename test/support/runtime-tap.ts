/** A proxy between daemons and their runtime, which can delay or drop single calls. */

/** The calls that change pods or containers, by CRI's names. */
export const CHANGES: readonly string[] = [
  ...['RunPodSandbox', 'CreateContainer', 'StartContainer', 'StopContainer', 'StopPodSandbox'],
  ...['RemoveContainer', 'RemovePodSandbox'],
];

/**
 * - `passes`: goes through unchanged; with `waitsFor`, when that promise has resolved.
 * - `lost`: it never reaches the runtime.
 * - `held`: it reaches the runtime when it is released, even if the caller has disconnected.
 * - `carriedOut`: called when the runtime has answered; the caller gets no answer.
 */
export type Fate =
  | 'passes'
  | 'lost'
  | 'held'
  | { readonly waitsFor: Promise<unknown> }
  | { readonly carriedOut: () => void };

/** The labels of a sandbox or a container, which name its pod. */
export type Labels = Readonly<Record<string, string>>;

export interface RuntimeTap {
  /** Decides about each call; without it all calls pass. */
  decide: ((call: string) => Fate) | undefined;
  /** All sandboxes and containers that were made through it, by ID. */
  readonly made: ReadonlyMap<string, Labels>;
  /** Containers whose start the runtime gave up half-way, because the caller had disconnected. */
  readonly cutShort: ReadonlySet<string>;
  /** Passes on the held calls; resolves when the runtime has answered all of them. */
  release(): Promise<void>;
}
