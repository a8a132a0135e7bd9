import type { Container, PodSandbox, PodSandboxMetadata } from '../../../types/cri.ts';

interface Entry<T> {
  readonly value: T;
  /** The number of the list during or after which the entry was last seen. */
  seen: number;
}

/** Finds the pod of a container or a sandbox by its id: events of a runtime contain only ids. */
export class PodIndex {
  readonly #sandboxes = new Map<string, Entry<PodSandboxMetadata>>();
  /** The id of the container's sandbox. */
  readonly #containers = new Map<string, Entry<string>>();
  #lists = 0;

  /** The pod of a container or a sandbox. */
  podOf(id: string): PodSandboxMetadata | undefined {
    return this.#sandboxes.get(this.sandboxOf(id) ?? id)?.value;
  }

  sandboxOf(containerId: string): string | undefined {
    return this.#containers.get(containerId)?.value;
  }

  ids(): string[] {
    return [...this.#sandboxes.keys(), ...this.#containers.keys()];
  }

  addSandbox(id: string, metadata: PodSandboxMetadata): void {
    this.#put(this.#sandboxes, id, metadata);
  }

  addContainer(id: string, sandboxId: string): void {
    this.#put(this.#containers, id, sandboxId);
  }

  drop(id: string): void {
    this.#sandboxes.delete(id);
    this.#containers.delete(id);
  }

  /** Called before a list is asked for. The number is for `endSandboxes` or `endContainers`. */
  beginList(): number {
    return ++this.#lists;
  }

  /** `complete`: the list has no filter, so that sandboxes that are not in it are gone. */
  endSandboxes(begun: number, sandboxes: readonly PodSandbox[], complete: boolean): void {
    for (const { id, metadata } of sandboxes) this.addSandbox(id, metadata);
    if (complete) dropUnseen(this.#sandboxes, begun);
  }

  endContainers(begun: number, containers: readonly Container[], complete: boolean): void {
    for (const { id, podSandboxId } of containers) this.addContainer(id, podSandboxId);
    if (complete) dropUnseen(this.#containers, begun);
  }

  #put<T>(entries: Map<string, Entry<T>>, id: string, value: T): void {
    const entry = entries.get(id);
    if (entry === undefined) entries.set(id, { value, seen: this.#lists });
    else entry.seen = this.#lists;
  }
}

/** Entries that were added after the list was asked for stay. */
function dropUnseen(entries: Map<string, Entry<unknown>>, begun: number): void {
  for (const [id, { seen }] of entries) if (seen < begun) entries.delete(id);
}
