import { mountFailure, failedStep, pluginOf } from '../../policies/volumes/claimed-volume.ts';
import { usedVolumes, type Volume } from '../../policies/volumes/volume-source.ts';
import { unlessAborted } from '../../../system/promises.ts';
import { withDeadline } from '../../../system/timer.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { podFields } from '../../../types/logger.ts';
import type { ClaimedVolumes } from './claimed-volumes.ts';
import type { PodVolume, VolumeKind, VolumeNode, VolumeState } from './kinds/volume-kind.ts';
import { kindOf } from './kinds/volume-kinds.ts';
import type { PodPaths } from './pod-paths.ts';
import type { VolumeDisk } from './volume-disk.ts';
import { VolumeMeter } from './volume-meter.ts';

/** As long as the kubelet waits for the volumes of a pod in one sync. */
const WAIT_MAX_MS = 123_000;

export interface PodVolumesParts {
  readonly node: VolumeNode;
  readonly claims: ClaimedVolumes | undefined;
  readonly disk: VolumeDisk;
}

/** Sets up the volumes of pods by their kinds, and remembers which are set up. */
export class PodVolumes {
  readonly #context: AgentContext;
  readonly #parts: PodVolumesParts;
  readonly #states = new VolumeStates();
  readonly meter: VolumeMeter;

  constructor(context: AgentContext, parts: PodVolumesParts) {
    this.#context = context;
    this.#parts = parts;
    this.meter = new VolumeMeter(context.measurements);
  }

  /** All its files have the SELinux label of the pod by the mount. */
  isLabelled(uid: string, volume: string): boolean {
    return this.#states.of(uid, volume).isLabelled === true;
  }

  /** Sets up the volumes that containers of the pod mount. Rejects where one has not been set up, after two minutes at the latest. */
  async mount(pod: Pod, paths: PodPaths, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    if (!this.#states.has(uid)) await this.#parts.disk.makeFolder(paths.podDir);
    const volumes = usedVolumes(pod);
    if (volumes.length === 0) return;
    const ready = volumes.filter((volume) => this.#isRefreshedBeside(pod, volume));
    for (const volume of ready) this.#refresh(pod, volume, paths, signal);
    const awaited = volumes.filter((volume) => !ready.includes(volume));
    const outcomes = await this.#withinLimit(signal, (limit) =>
      Promise.allSettled(
        awaited.map((volume) =>
          this.#states.inTurn(uid, volume.name, () => this.#setUp(pod, volume, paths, limit)),
        ),
      ),
    );
    signal.throwIfAborted();
    if (outcomes === undefined) this.#refuseUnmounted(pod);
    const failures = outcomes?.filter((outcome) => outcome.status === 'rejected') ?? [];
    const [first] = failures;
    if (first === undefined) return;
    const message = failures.map(({ reason }) => errorMessage(reason)).join('; ');
    throw new StateletError(errorKind(first.reason), message, { cause: first.reason });
  }

  /** As with the kubelet there is no event: the set-up may still be under way. */
  #refuseUnmounted(pod: Pod): void {
    const { metadata } = pod;
    const names = this.unmounted(pod);
    if (names.length === 0) return;
    const lists = `unmounted volumes=[${names.join(' ')}], unattached volumes=[], failed to process volumes=[]`;
    const message = `Unable to attach or mount volumes: ${lists}: context deadline exceeded`;
    this.#context.logger.warn(podFields(metadata), message);
    throw new StateletError('DeadlineExceeded', message);
  }

  /** The names of the pod's volumes that have not been set up. */
  unmounted(pod: Pod): readonly string[] {
    const names = usedVolumes(pod).map(({ name }) => name);
    return names.filter((name) => this.#states.of(pod.metadata.uid, name).readyAs === undefined);
  }

  /** Undefined after two minutes, or as soon as the signal aborts. */
  async #withinLimit<T>(
    signal: AbortSignal | undefined,
    work: (limit: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    if (signal?.aborted === true) return undefined;
    return withDeadline(this.#context.clock, WAIT_MAX_MS, signal, async (limit) => {
      try {
        return await unlessAborted(work(limit), limit);
      } catch (error) {
        if (limit.aborted) return undefined;
        throw error;
      }
    });
  }

  /** Waits for set-ups that are under way, before volumes are removed: a set-up would make a volume again. */
  async letRest(uid: string): Promise<void> {
    const isAtRest = await this.#withinLimit(undefined, async () => {
      await this.#states.atRest(uid);
      return true;
    });
    if (!isAtRest)
      throw new StateletError('DeadlineExceeded', 'a volume is still being set up, it is tried again');
    this.#states.forget(uid);
  }

  /** Containers go on with the volume as it is. */
  #isRefreshedBeside({ metadata: { uid } }: Pod, volume: Volume): boolean {
    if (this.#states.of(uid, volume.name).readyAs !== JSON.stringify(volume)) return false;
    const claimed = this.#parts.claims?.of(uid, volume.name);
    return kindOf({ volume, claimed }).isRefreshedBeside === true;
  }

  /** Sets the volume up again; a failure becomes an event. Does nothing while the last refresh is under way. */
  #refresh(pod: Pod, volume: Volume, paths: PodPaths, signal: AbortSignal): void {
    const { uid } = pod.metadata;
    const { isKeptFresh = false, underWay } = this.#states.of(uid, volume.name);
    if (!isKeptFresh || underWay) return;
    this.#states
      .inTurn(uid, volume.name, () => this.#setUp(pod, volume, paths, signal))
      .catch((error: unknown) => this.#context.logger.debug(podFields(pod.metadata), errorMessage(error)));
  }

  async #setUp(pod: Pod, volume: Volume, paths: PodPaths, signal: AbortSignal): Promise<void> {
    const { claims } = this.#parts;
    const state = this.#states.of(pod.metadata.uid, volume.name);
    const wanted = JSON.stringify(volume);
    let isUsable = (): Promise<boolean> | undefined => undefined;
    try {
      const known = { pod, volume, paths, claimed: claims?.of(pod.metadata.uid, volume.name) };
      if (state.readyAs === wanted && !state.isKeptFresh) return;
      signal.throwIfAborted();
      const found = { ...known, claimed: await claims?.find(pod, volume, paths, signal) };
      const kind = kindOf(found);
      isUsable = () => kind.isUsable?.(found, this.#parts.node);
      await this.#setUpMeasured(kind, found, signal);
      state.readyAs = wanted;
    } catch (error) {
      signal.throwIfAborted();
      const message = mountFailure(volume, error);
      const isBlock = claims?.of(pod.metadata.uid, volume.name)?.isBlock === true;
      const reason = isBlock ? 'FailedMapVolume' : 'FailedMount';
      this.#context.recorder.event(pod.metadata, 'Warning', reason, message);
      if (await isUsable()) state.readyAs = wanted;
      else throw new StateletError(errorKind(error), message, { cause: error });
    }
  }

  async #setUpMeasured(kind: VolumeKind, found: PodVolume, signal: AbortSignal): Promise<void> {
    const { pod, volume, claimed } = found;
    const { uid } = pod.metadata;
    const request = { ...found, state: this.#states.of(uid, volume.name), node: this.#parts.node };
    const setUp = () => kind.setUp(request, signal);
    if (claimed?.isBlock && this.#parts.node.givesDevices !== true) throw noDevices(claimed.name);
    const end = this.meter.mounting(uid, volume, {
      plugin: pluginOf(found),
      isBlock: claimed?.isBlock === true,
    });
    try {
      await (claimed ? this.#parts.claims?.inTurn(claimed, setUp, signal) : setUp());
      end?.('success');
    } catch (error) {
      end?.('failure');
      throw error;
    }
  }
}

function noDevices(name: string): Error {
  const problem = 'block devices (volumeDevices) need a runtime of CRI; use a claim of volumeMode Filesystem';
  return failedStep('MapVolume.SetUpDevice', name, new StateletError('Unimplemented', problem));
}

/** The volumes of all pods, by the UIDs of pods and the names of volumes. */
export class VolumeStates {
  readonly #pods = new Map<string, Map<string, VolumeState>>();

  has(uid: string): boolean {
    return this.#pods.has(uid);
  }

  of(uid: string, volume: string): VolumeState {
    const pod = this.#pods.get(uid) ?? new Map<string, VolumeState>();
    const state = pod.get(volume) ?? {};
    this.#pods.set(uid, pod.set(volume, state));
    return state;
  }

  /** Runs the work on a volume after all earlier work on it, which its caller may have stopped waiting for. */
  async inTurn(uid: string, volume: string, work: () => Promise<void>): Promise<void> {
    const state = this.of(uid, volume);
    const before = state.underWay;
    const own = before === undefined ? work() : before.then(work, work);
    state.underWay = own;
    try {
      await own;
    } finally {
      if (state.underWay === own) delete state.underWay;
    }
  }

  /** Settles when nothing is being done for a volume of the pod. */
  async atRest(uid: string): Promise<void> {
    const states = [...(this.#pods.get(uid)?.values() ?? [])];
    await Promise.allSettled(states.flatMap(({ underWay }) => underWay ?? []));
  }

  forget(uid: string): void {
    this.#pods.delete(uid);
  }
}
