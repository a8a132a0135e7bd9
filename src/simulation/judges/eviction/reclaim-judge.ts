/** Checks that dead containers and unused images are removed before any pod is evicted, and that nothing in use is removed. */
import type { FileSystemLayout, NodeReclaim } from '../../../agent/policies/eviction/file-system-parts.ts';
import type { EvictionSignal } from '../../../agent/policies/eviction/signals.ts';
import type { CallUnderWay, ContainerTruth, SandboxTruth } from '../../runtime/witness.ts';
import type { RunningTruth } from '../../resources/node-use.ts';
import type { PodRecords } from '../pod-records.ts';
import { isTerminated } from '../pod-states.ts';

export interface ReclaimJudgeOptions {
  readonly now: () => number;
  readonly truth: RunningTruth;
  readonly tenants: PodRecords;
  readonly violated: (subject: { readonly uid: string }, what: string) => void;
}

export class ReclaimJudge {
  readonly #options: ReclaimJudgeOptions;
  /** Removed in this pass. */
  #done: NodeReclaim[] = [];
  /** When each removal under way began. */
  readonly #underWay = new Map<NodeReclaim, number>();

  constructor(options: ReclaimJudgeOptions) {
    this.#options = options;
  }

  passBegins(): void {
    this.#done = [];
  }

  /** A removal begins; the result is called when it is over, also if not everything could be removed. */
  begins(what: NodeReclaim): (isWaitedFor: boolean) => void {
    if (this.#underWay.has(what)) this.#violated({ uid: '' }, `${what} are removed twice at a time`);
    this.#underWay.set(what, this.#options.now());
    return (isWaitedFor) => {
      this.#underWay.delete(what);
      if (isWaitedFor) this.#done.push(what);
    };
  }

  get #beganAt(): number {
    return Math.min(...this.#underWay.values());
  }

  /** What should have been removed before a pod is evicted for the signal, if it was not. */
  missing(signal: EvictionSignal, layout: FileSystemLayout): string | undefined {
    const [wanted, done] = [reclaimedFor(signal, layout).join(), this.#done.join()];
    return wanted === done
      ? undefined
      : `is evicted after ${done || 'nothing'} was removed, and not ${wanted || 'nothing'}`;
  }

  /** The reclaimer has begun this call. It cannot know what came into use after its list. */
  callBegan({ name, target, uid }: CallUnderWay): void {
    if (name === 'RemoveContainer') this.#checkContainer(uid, target);
    if (name === 'StopPodSandbox' || name === 'RemovePodSandbox') this.#checkSandbox(uid, target);
    if (name === 'RemoveImage') this.#checkImage(target);
  }

  #checkContainer(uid: string, id: string): void {
    const all = this.#containersOf(uid);
    const container = all.find((one) => one.id === id);
    if (container === undefined) return;
    const isNew = container.startedAt >= this.#beganAt;
    if (container.state === 'CONTAINER_RUNNING' && !isNew)
      this.#violated({ uid }, `${container.metadata.name} is removed, and runs`);
    const tenant = this.#options.tenants.get(uid);
    if (tenant === undefined || tenant.isGone || isTerminated(tenant.state)) return;
    const isNewest = all.every((one) => one.id === id || !isLater(one, container));
    if (isNewest)
      this.#violated({ uid }, `what ${container.metadata.name} came to is removed in ${tenant.state}`);
  }

  #checkSandbox(uid: string, id: string): void {
    const sandbox = [...this.#options.truth.sandboxesOf(uid)].find((one) => one.id === id);
    if (sandbox !== undefined && isInUse(sandbox))
      this.#violated({ uid }, `sandbox ${id} is removed, and is in use`);
  }

  #checkImage(image: string): void {
    for (const uid of this.#options.truth.uids()) {
      const user = this.#containersOf(uid).find(
        (one) => one.image === image && one.createdAt < this.#beganAt,
      );
      if (user !== undefined) this.#violated({ uid }, `image ${image} of ${user.id} is removed`);
    }
  }

  #containersOf(uid: string): readonly ContainerTruth[] {
    return Array.from(this.#options.truth.sandboxesOf(uid), ({ containers }) => containers).flat();
  }

  #violated(subject: { readonly uid: string }, what: string): void {
    this.#options.violated(subject, what);
  }
}

/** What can be removed from the disk that is short, in the order of removal. */
function reclaimedFor(signal: EvictionSignal, layout: FileSystemLayout): readonly NodeReclaim[] {
  const [fileSystem = ''] = signal.split('.');
  if (!fileSystem.endsWith('fs')) return [];
  if (!layout.dedicatedImageFs) return ['containers', 'images'];
  const isOfImages = fileSystem === 'imagefs';
  if (layout.splitContainerFs) return isOfImages ? ['images'] : ['containers'];
  return isOfImages ? ['containers', 'images'] : [];
}

function isLater(one: ContainerTruth, other: ContainerTruth): boolean {
  return one.metadata.name === other.metadata.name && one.metadata.attempt > other.metadata.attempt;
}

function isInUse({ ready, containers }: SandboxTruth): boolean {
  return ready || containers.some(({ state }) => state === 'CONTAINER_RUNNING');
}
