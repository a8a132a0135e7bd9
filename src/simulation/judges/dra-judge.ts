/**
 * Checks the use of ResourceClaims. It knows for which pods they were reserved, which calls the driver got and carried out, what
 * the checkpoint on the disk says, and which containers run. It outlives the agents of its node.
 */
import type { ContainerConfig } from '../../types/cri.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { claimOfDevice, type DraWitness } from '../drivers/dra-driver-service.ts';
import type { ContainerTruth, SandboxTruth } from '../runtime/witness.ts';

export interface DraJudgeOptions {
  /** As the disk has it. */
  readonly checkpoint: () => string | undefined;
  readonly runtime: () => { uids(): Iterable<string>; sandboxesOf(uid: string): Iterable<SandboxTruth> };
  readonly onPrepared: () => void;
  readonly violated: (uid: string | undefined, what: string) => void;
}

export class DraJudge implements DraWitness {
  readonly #options: DraJudgeOptions;
  readonly #prepared = new Set<string>();
  /** By the UID of a claim: those of the pods for which it is or was reserved. */
  readonly #reserved = new Map<string, Set<string>>();
  /** The UIDs of the claims of which a container has devices, by pod, name and attempt. */
  readonly #devices = new Map<string, readonly string[]>();
  /** Ids of containers whose start an agent has waited for. */
  readonly #awaited = new Set<string>();

  constructor(options: DraJudgeOptions) {
    this.#options = options;
  }

  reserved(claimUID: string, podUID: string): void {
    this.#reserved.set(claimUID, (this.#reserved.get(claimUID) ?? new Set()).add(podUID));
  }

  asked(claimUID: string): void {
    if (this.#options.checkpoint()?.includes(claimUID) !== true)
      this.#violated(
        undefined,
        `${claimUID} is prepared before the disk says so: a next agent would not unprepare it`,
      );
  }

  prepares(claimUID: string): void {
    this.#prepared.add(claimUID);
    this.#options.onPrepared();
  }

  unprepares(claimUID: string): void {
    this.#prepared.delete(claimUID);
    for (const container of this.#running())
      if (this.#awaited.has(container.id) && this.#claimsOf(container).includes(claimUID))
        this.#violated(container.uid, `${claimUID} is unprepared, and ${container.metadata.name} uses it`);
  }

  /** The agent has made the configuration of a container. */
  configured({ metadata: { uid }, spec }: Pod, { metadata, cdiDevices = [] }: ContainerConfig): void {
    const ids = cdiDevices.map(({ name }) => name);
    const { resources } = spec.containers.find(({ name }) => name === metadata.name) ?? {};
    if (ids.length < (resources?.claims ?? []).length)
      this.#violated(uid, `${metadata.name} is made without the devices of its claim`);
    this.#devices.set(keyOf(uid, metadata), ids.map(claimOfDevice));
  }

  /** `isAwaited`: whether the agent that asked for the start still waits for it. */
  started(container: ContainerTruth, isAwaited: boolean): void {
    if (!isAwaited) return;
    const { id, uid, metadata } = container;
    this.#awaited.add(id);
    for (const claim of this.#claimsOf(container)) {
      if (this.#reserved.get(claim)?.has(uid) !== true)
        this.#violated(uid, `${metadata.name} starts with ${claim}, which is not reserved for its pod`);
      if (!this.#prepared.has(claim))
        this.#violated(uid, `${metadata.name} starts with ${claim}, which is not prepared`);
    }
  }

  /** Something that is left although no pod is wanted. */
  get leftover(): string | undefined {
    const [claim] = this.#prepared;
    if (claim !== undefined) return `${claim} is still prepared`;
    return this.#options.checkpoint()?.includes('ClaimUID') ? 'the checkpoint still has a claim' : undefined;
  }

  #claimsOf({ uid, metadata }: ContainerTruth): readonly string[] {
    return this.#devices.get(keyOf(uid, metadata)) ?? [];
  }

  *#running(): Iterable<ContainerTruth> {
    const runtime = this.#options.runtime();
    for (const uid of runtime.uids())
      for (const { containers } of runtime.sandboxesOf(uid))
        for (const container of containers) if (container.state === 'CONTAINER_RUNNING') yield container;
  }

  #violated(uid: string | undefined, what: string): void {
    this.#options.violated(uid, what);
  }
}

function keyOf(uid: string, { name, attempt }: ContainerConfig['metadata']): string {
  return `${uid}/${name}/${String(attempt)}`;
}
