/** The objects of the API server whose taints show conditions of plugins: the Node object, and Katalyst's CustomNodeResource. */
import type { Observable, Subscription } from 'rxjs';
import { hasReason } from '../../cluster/service/api-error.ts';
import type { ApiServer, RequestOptions } from '../../cluster/service/api-server.ts';
import { type WatchedObject, watchObject } from '../../cluster/watches/watched-object.ts';
import type { QosTaint } from '../../policies/eviction-plugins/taints-of-conditions.ts';
import { StateletError } from '../../../types/errors.ts';
import type { ConditionType } from '../../../types/eviction-plugin.ts';
import type { Node, ObjectMeta } from '../../../types/kubernetes.ts';
import type { ActorContext } from '../actor-context.ts';

export interface TaintedObject {
  /** Of the actor that writes its taints. */
  readonly id: string;
  /** For messages: `the node`. */
  readonly title: string;
  /** Of the conditions that become its taints. */
  readonly type: ConditionType;
  /** Its taints as the server sent them last; undefined while they are not known. */
  seen(): readonly QosTaint[] | undefined;
  /** Conditions ask for these taints: called each time that they are compared. */
  wanted?(taints: readonly QosTaint[]): void;
  /** Reads the object, and writes the taints that `changed` makes of the present ones. Fails if the object has changed meanwhile. */
  write(
    changed: (current: readonly QosTaint[]) => readonly QosTaint[] | undefined,
    request: RequestOptions,
  ): Promise<void>;
  start?(): void;
  stop?(): void;
}

export interface TaintedNodeParts {
  /** With rights to read the Node object and to patch it. */
  readonly api: Pick<ApiServer, 'get' | 'patch'>;
  readonly nodeName: string;
  /** As the server sent it last; undefined while it is not known, or belongs to another machine. */
  readonly node: () => Node | undefined;
}

export function taintedNode({ api, nodeName, node }: TaintedNodeParts): TaintedObject {
  const target = { resource: 'nodes', name: nodeName } as const;
  const taintsOf = ({ spec }: Node) => spec?.taints ?? [];
  return {
    id: 'taints',
    title: 'the node',
    type: 'NODE_CONDITION',
    seen: () => {
      const seen = node();
      return seen && taintsOf(seen);
    },
    write: async (changed, request) => {
      const found = await api.get<Node>(target, request);
      const { uid, resourceVersion } = found.metadata;
      if (uid !== node()?.metadata.uid) throw notOurs(nodeName);
      const taints = changed(taintsOf(found));
      // The list is replaced as a whole. The version makes the write fail if somebody has added a taint since the read.
      const patch = { metadata: { resourceVersion }, spec: { taints } };
      if (taints !== undefined) await api.patch<Node>(target, patch, request);
    },
  };
}

/** What is read of it. */
interface CustomNodeResource {
  readonly metadata: ObjectMeta;
  readonly spec?: { readonly taints?: readonly QosTaint[] };
}

/** It has the node's name. It is watched from start to stop. Where it is missing and there is a taint for it, it is made as Katalyst makes it. */
export class TaintedCustomNodeResource implements TaintedObject {
  readonly id = 'cnrTaints';
  readonly title = 'the CustomNodeResource of the node';
  readonly type = 'CNR_CONDITION';
  readonly #api: ApiServer;
  readonly #name: string;
  readonly #watch: Observable<WatchedObject<CustomNodeResource>>;
  readonly #logger: ActorContext['logger'];
  readonly #measurements: ActorContext['measurements'];
  #subscription: Subscription | undefined;
  #seen: readonly QosTaint[] | undefined;
  #problem: string | undefined;

  /** `api`: with rights to get, list, watch, create and update it. */
  constructor({ clock, random, logger, measurements }: ActorContext, api: ApiServer, nodeName: string) {
    this.#api = api;
    this.#name = nodeName;
    this.#logger = logger;
    this.#measurements = measurements;
    this.#watch = watchObject<CustomNodeResource>(api, this.#target, {
      clock,
      random,
      // Its status has figures of the whole node.
      keep: ({ metadata: { name, uid, resourceVersion }, spec }) => ({
        metadata: { name, uid, resourceVersion },
        spec: { taints: spec?.taints ?? [] },
      }),
    });
  }

  get #target() {
    return { resource: 'customnoderesources', name: this.#name } as const;
  }

  start(): void {
    this.#subscription = this.#watch.subscribe(({ isKnown, object, problem }) => {
      this.#seen = isKnown ? (object?.spec?.taints ?? []) : undefined;
      if (problem !== undefined && problem !== this.#problem)
        this.#logger.warn({}, `Eviction plugins: ${this.title} cannot be followed: ${problem}`);
      this.#problem = problem;
    });
  }

  stop(): void {
    this.#subscription?.unsubscribe();
  }

  seen(): readonly QosTaint[] | undefined {
    return this.#seen;
  }

  wanted(taints: readonly QosTaint[]): void {
    this.#measurements?.plugins.tainted(
      taints.map(({ qosLevel = '', key, effect }) => ({ qos_level: qosLevel, key, effect })),
    );
  }

  async write(
    changed: (current: readonly QosTaint[]) => readonly QosTaint[] | undefined,
    request: RequestOptions,
  ): Promise<void> {
    const found = await this.#find(request);
    const taints = changed(found?.spec?.taints ?? []);
    if (taints === undefined) return;
    if (found === undefined) {
      const made = { metadata: { name: this.#name } as ObjectMeta, spec: { taints } };
      await this.#api.create<CustomNodeResource>({ resource: 'customnoderesources' }, made, request);
    } else {
      // Replaces the object as a whole, with its version. Its status is a subresource, and stays.
      const next = { ...found, spec: { ...found.spec, taints } };
      await this.#api.update<CustomNodeResource>(this.#target, next, request);
    }
  }

  async #find(request: RequestOptions): Promise<CustomNodeResource | undefined> {
    try {
      return await this.#api.get<CustomNodeResource>(this.#target, request);
    } catch (error) {
      if (hasReason(error, 'NotFound')) return undefined;
      throw error;
    }
  }
}

function notOurs(nodeName: string): StateletError {
  return new StateletError('Aborted', `the object of node ${nodeName} is not the one that is watched`);
}
