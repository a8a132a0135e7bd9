/** What stands between daemons and their runtime, and decides what becomes of single calls. */

/** The calls that change what a runtime holds, by CRI's names. */
export const CHANGES: readonly string[] = [
  ...['RunPodSandbox', 'CreateContainer', 'StartContainer', 'StopContainer', 'StopPodSandbox'],
  ...['RemoveContainer', 'RemovePodSandbox'],
];

/**
 * - `passes`: as if nobody stood there; with `waitsFor`, once that has come about.
 * - `lost`: it never reaches the runtime.
 * - `held`: it reaches the runtime when it is released, also when the caller has gone.
 * - `carriedOut`: called when the runtime has answered; nobody else hears of that.
 */
export type Fate =
  'passes' | 'lost' | 'held' | { readonly waitsFor: Promise<unknown> } | { readonly carriedOut: () => void };

/** Of a sandbox or a container: they tell whose it is. */
export type Labels = Readonly<Record<string, string>>;

export interface RuntimeTap {
  /** Asked about each call; without it all of them pass. */
  decide: ((call: string) => Fate) | undefined;
  /** Everything that was made by way of it, by id. */
  readonly made: ReadonlyMap<string, Labels>;
  /** Containers whose start the runtime gave up half-way, because the caller had gone. */
  readonly cutShort: ReadonlySet<string>;
  /** Passes on what was held; resolves when the runtime has answered all of it. */
  release(): Promise<void>;
}
