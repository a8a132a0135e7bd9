/** The actor of a volume of a CSI driver, and its effects. */
import { type ActorRefFrom, type SnapshotFrom, waitFor } from 'xstate';
import {
  type CsiVolumeInput,
  csiVolumeMachine,
  type CsiVolumeWish,
} from '../../machines/csi-volume-machine.ts';
import type { AttachReports } from '../../policies/volumes/csi-attachment.ts';
import { type CsiSource, uniqueVolumeName } from '../../policies/volumes/csi-source.ts';
import type { CsiStagedVolumes } from '../../runtime/volumes/csi/csi-staged-volumes.ts';
import { StateletError } from '../../../types/errors.ts';
import type { ActorContext } from '../actor-context.ts';
import { agentActor, requestActor, timedFailures } from '../agent-actor.ts';

export interface CsiVolumeParts {
  readonly staged: Pick<CsiStagedVolumes, 'attached' | 'stage' | 'unstage'>;
  readonly attachReports: AttachReports;
  /** Called with the UIDs of its pods when its state changes. */
  readonly onStep: (pods: readonly string[]) => void;
  /** Called when the volume is unstaged and no pod uses it. */
  readonly onGone: () => void;
}

export class CsiVolumeActor {
  readonly name: string;
  readonly #context: ActorContext;
  readonly #parts: CsiVolumeParts;
  readonly #actor: ActorRefFrom<typeof csiVolumeMachine>;

  constructor(context: ActorContext, input: Omit<CsiVolumeInput, 'now'>, parts: CsiVolumeParts) {
    this.#context = context;
    this.#parts = parts;
    this.name = uniqueVolumeName(input);
    this.#actor = agentActor(context, this.#machine(), {
      id: `csiVolume ${this.name}`,
      title: `the volume ${this.name}`,
      input: { ...input, now: context.clock.now() },
    });
    this.#actor.subscribe(({ context: { pods } }) => parts.onStep(pods));
    this.#actor.start();
  }

  get snapshot(): SnapshotFrom<typeof csiVolumeMachine> {
    return this.#actor.getSnapshot();
  }

  /** The volume is unstaged and no pod uses it: the actor has ended. */
  get isLeft(): boolean {
    return this.snapshot.status !== 'active';
  }

  /**
   * Resolves to the attachment's publish context, once the volume is staged. Rejects when a step has failed, and as soon as the
   * signal aborts, which it has not yet.
   */
  async use(wish: CsiVolumeWish, signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
    this.#actor.send({ type: 'WANTED', ...wish, now: this.#context.clock.now() });
    const snapshot = await waitFor(
      this.#actor,
      (one) => one.matches('Staged') || one.matches('Failed') || one.status !== 'active',
      { signal },
    );
    const { publishContext, problem = 'the agent stops' } = snapshot.context;
    if (snapshot.matches('Staged')) return publishContext;
    throw new StateletError('Unavailable', problem);
  }

  leave(pod: string): void {
    this.#actor.send({ type: 'LEFT', pod, now: this.#context.clock.now() });
  }

  /** The driver has registered, perhaps again: an unstaging that failed is tried again now. */
  driverRegistered(): void {
    this.#actor.send({ type: 'DRIVER_REGISTERED', now: this.#context.clock.now() });
  }

  podsKnown(): void {
    this.#actor.send({ type: 'PODS_KNOWN', now: this.#context.clock.now() });
  }

  stop(): void {
    this.#actor.send({ type: 'STOP' });
  }

  #machine(): typeof csiVolumeMachine {
    const { clock, logger } = this.#context;
    const { staged, attachReports, onGone } = this.#parts;
    const failureOf = timedFailures(clock);
    return csiVolumeMachine.provide({
      actors: {
        attach: requestActor(async ({ source, isAttachable }, signal) => {
          if (!isAttachable) return { publishContext: {}, now: clock.now() };
          const publishContext = await staged.attached(wanted(source), attachReports, signal);
          return { publishContext, now: clock.now() };
        }, failureOf),
        stage: requestActor(async ({ source, publishContext, group }, signal) => {
          await staged.stage({ source: wanted(source), publishContext, group }, signal);
          return clock.now();
        }, failureOf),
        unstage: requestActor(async (volume, signal) => {
          await staged.unstage(volume, signal);
          return clock.now();
        }, failureOf),
      },
      actions: {
        reportProblem: ({ context: { problem = '' } }) =>
          logger.warn({ volume: this.name }, `Volume ${this.name}: ${problem}`),
        // While an action runs, the actor has not ended yet.
        forget: () => queueMicrotask(onGone),
      },
    });
  }
}

function wanted(source: CsiSource | undefined): CsiSource {
  if (source !== undefined) return source;
  throw new StateletError('Internal', 'no pod has said how it wants the volume');
}
