/** Registers the CSI drivers of this node at the API server. */
import {
  driverLabels,
  newCsiNode,
  type RegisteredCsiDriver,
  withDriver,
  withoutDriver,
  withoutNodeId,
} from '../../policies/volumes/csi-registration.ts';
import type { CSINode, Node } from '../../../types/kubernetes.ts';
import { hasReason } from '../service/api-error.ts';
import type { ApiServer } from '../service/api-server.ts';

/** Other writers of the objects may come in between so often. */
const TRIES = 5;

export class CsiNodeObjects {
  readonly #api: ApiServer;
  readonly #nodeName: string;

  constructor(api: ApiServer, nodeName: string) {
    this.#api = api;
    this.#nodeName = nodeName;
  }

  /** Makes the CSINode without drivers, where there is none. Rejects where there is no Node yet. */
  async init(signal: AbortSignal): Promise<void> {
    const node = await this.#patchNode(() => undefined, signal);
    await this.#changeCsiNode(() => undefined, signal, node.metadata.uid ?? '');
  }

  /** Rejects where the driver does not fit the Node, and where the server refuses it. */
  async add(driver: RegisteredCsiDriver, signal: AbortSignal): Promise<void> {
    const node = await this.#patchNode((current) => driverLabels(current, driver), signal);
    await this.#changeCsiNode((current) => withDriver(current, driver), signal, node.metadata.uid ?? '');
  }

  async remove(name: string, signal: AbortSignal): Promise<void> {
    await this.#patchNode((current) => withoutNodeId(current, name), signal);
    await this.#changeCsiNode((current) => withoutDriver(current, name), signal);
  }

  async #patchNode(patchOf: (node: Node) => object | undefined, signal: AbortSignal): Promise<Node> {
    const target = { resource: 'nodes', name: this.#nodeName } as const;
    const node = await this.#api.get<Node>(target, { signal });
    const patch = patchOf(node);
    return patch === undefined ? node : this.#api.patch<Node>(target, patch, { signal });
  }

  /** `nodeUID`: a CSINode that is missing is made. */
  async #changeCsiNode(
    changed: (csiNode: CSINode) => CSINode | undefined,
    signal: AbortSignal,
    nodeUID?: string,
  ): Promise<void> {
    const target = { resource: 'csinodes', name: this.#nodeName } as const;
    for (let tries = 1; ; tries++) {
      try {
        const current = await this.#found(target, signal);
        const before = current ?? (nodeUID && newCsiNode(this.#nodeName, nodeUID));
        const wanted = before ? (changed(before) ?? (current ? undefined : before)) : undefined;
        if (wanted === undefined) return;
        if (current) await this.#api.update<CSINode>(target, wanted, { signal });
        else await this.#api.create<CSINode>({ resource: 'csinodes' }, wanted, { signal });
        return;
      } catch (error) {
        const isOvertaken = hasReason(error, 'Conflict') || hasReason(error, 'AlreadyExists');
        if (!isOvertaken || tries >= TRIES) throw error;
      }
    }
  }

  async #found(
    target: { readonly resource: 'csinodes'; readonly name: string },
    signal: AbortSignal,
  ): Promise<CSINode | undefined> {
    try {
      return await this.#api.get<CSINode>(target, { signal });
    } catch (error) {
      if (hasReason(error, 'NotFound')) return undefined;
      throw error;
    }
  }
}
