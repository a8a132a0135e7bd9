/** A simulated API server for one node, under a virtual clock. It outlives the node's agents. */
import type { ConnectionObserver } from '../../agent/cluster/service/api-server.ts';
import type { Clock } from '../../types/clock.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { ApiOperations } from './api-operations.ts';
import type { ApiFaults } from './api-faults.ts';
import type { ApiRequest, Reachability } from './api-request.ts';
import { ApiStore } from './api-store.ts';
import type { ApiWatch } from './api-watch.ts';
import type { ApiWitness } from './api-witness.ts';
import { AuthorizerGraph } from './pod-references.ts';
import { NodeRights } from './node-rights.ts';
import { type ApiHost, SimulatedApiClient } from './simulated-api-client.ts';

export interface SimulatedApiServerOptions {
  readonly nodeName: string;
  readonly clock: Clock;
  /** In [0, 1), by the key. */
  readonly random: (key: string) => number;
  readonly faults: () => ApiFaults;
  readonly witness?: ApiWitness;
  /** Whether a disruption budget keeps the pod for now. */
  readonly isGuarded?: (pod: Pod) => boolean;
}

interface Outage {
  readonly how?: Exclude<Reachability, 'up'>;
  readonly forgetful?: boolean;
}

/** With `lateRights`, the authorizer learns this much later of pods. */
const LATE_RIGHTS_MS = 300;

export class SimulatedApiServer implements ApiHost {
  readonly store = new ApiStore();
  /** The operations of the cluster's users and controllers. */
  readonly operations: ApiOperations;
  readonly clock: Clock;
  readonly witness: ApiWitness;
  readonly requests = new Set<ApiRequest<unknown>>();
  readonly watches = new Set<ApiWatch>();
  readonly #options: SimulatedApiServerOptions;
  readonly #rights: NodeRights;
  #reachability: Reachability = 'up';
  #outages = 0;
  #connections = 0;
  #changesOfRights = 0;

  constructor(options: SimulatedApiServerOptions) {
    this.#options = options;
    this.clock = options.clock;
    this.witness = options.witness ?? {};
    this.operations = new ApiOperations({
      store: this.store,
      now: () => this.clock.now(),
      author: undefined,
    });
    this.#rights = this.#buildRights();
  }

  get reachability(): Reachability {
    return this.#reachability;
  }

  get nodeName(): string {
    return this.#options.nodeName;
  }

  get faults(): ApiFaults {
    return this.#options.faults();
  }

  random(key: string): number {
    return this.#options.random(key);
  }

  /** A connection with the credentials of the node, such as a new agent makes. */
  connect(observer?: ConnectionObserver): SimulatedApiClient {
    this.#connections += 1;
    const id = this.#connections;
    const { store } = this;
    const operations = new ApiOperations({
      store,
      now: () => this.clock.now(),
      rights: this.#rights,
      author: id,
      isGuarded: this.#options.isGuarded,
    });
    return new SimulatedApiClient(this, { id, operations, observer });
  }

  /** A connection with the credentials of a user who may do everything. Its changes count as those of users. */
  connectUser(): SimulatedApiClient {
    this.#connections += 1;
    return new SimulatedApiClient(this, {
      id: this.#connections,
      operations: this.operations,
      observer: undefined,
    });
  }

  goDown(how: Exclude<Reachability, 'up'> = 'refusing'): void {
    this.#reachability = how;
    for (const request of [...this.requests]) {
      if (how === 'silent') request.fallSilent();
      else request.breakOff();
    }
    for (const watch of [...this.watches]) {
      if (how === 'silent') watch.fallSilent();
      else watch.breakOff();
    }
  }

  /** It comes up again after that time, unless another outage lasts longer. */
  goDownFor(downMs: number, { how = 'refusing', forgetful = false }: Outage = {}): void {
    this.#outages += 1;
    this.goDown(how);
    this.clock.setTimeout(() => {
      this.#outages -= 1;
      if (this.#outages === 0) this.comeUp({ forgetful });
    }, downMs);
  }

  /** `forgetful`: it has forgotten earlier changes, so that watches cannot go on where they ended. */
  comeUp({ forgetful = false }: { readonly forgetful?: boolean } = {}): void {
    this.#reachability = 'up';
    if (forgetful) this.store.compact();
  }

  #buildRights(): NodeRights {
    const { nodeName, random } = this.#options;
    const { store } = this;
    const graph = new AuthorizerGraph({
      store,
      nodeName,
      now: () => this.clock.now(),
      delayMs: (name) => {
        const key = `api/rights/${name}/${String(++this.#changesOfRights)}`;
        return random(key) < this.faults.lateRights ? LATE_RIGHTS_MS : 0;
      },
    });
    return new NodeRights({
      nodeName,
      isKnownHere: (namespace, name) => graph.isKnownHere(namespace, name),
      isReferredTo: (object) => graph.isReferredTo(object),
      isAttachedHere: (name) => {
        const found: unknown = store.get('volumeattachments', { name });
        return (found as { spec: { nodeName: string } } | undefined)?.spec.nodeName === nodeName;
      },
      nodeUID: () => store.get('nodes', { name: nodeName })?.metadata.uid,
    });
  }
}
