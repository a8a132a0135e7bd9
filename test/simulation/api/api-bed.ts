import type { Subscription } from 'rxjs';
import type { ApiObject, ApiServer, WatchEvent } from '../../../src/agent/cluster/service/api-server.ts';
import { ApiError } from '../../../src/agent/cluster/service/api-error.ts';
import type { Collection, ObjectReference } from '../../../src/agent/cluster/service/api-resources.ts';
import { type ApiFaults, NO_API_FAULTS } from '../../../src/simulation/api/api-faults.ts';
import type { ApiWitness, RequestUnderWay } from '../../../src/simulation/api/api-witness.ts';
import { SimulatedApiClient } from '../../../src/simulation/api/simulated-api-client.ts';
import { SimulatedApiServer } from '../../../src/simulation/api/simulated-api-server.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import type { Node, Pod, PodSpec } from '../../../src/types/kubernetes.ts';

export const NODE = 'node-1';

/** A simulated API server with a client of the node and one that may do everything. */
export class ApiBed {
  readonly clock = new VirtualClock();
  readonly server: SimulatedApiServer;
  readonly node: SimulatedApiClient;
  readonly admin: SimulatedApiClient;
  faults: ApiFaults = NO_API_FAULTS;
  /** The requests that were sent, and their answers, in the order in which they ended. */
  readonly ended: string[] = [];
  readonly began: RequestUnderWay[] = [];

  constructor(random: (key: string) => number = () => 0.5, witness: ApiWitness = {}) {
    this.server = this.#build(random, witness);
    this.node = this.server.connect();
    const { operations } = this.server;
    this.admin = new SimulatedApiClient(this.server, { id: 0, operations, observer: undefined });
  }

  /** Lets time pass until the promise has settled. */
  async settle<T>(promise: Promise<T>): Promise<T> {
    const progress = { isSettled: false };
    const settled = () => {
      progress.isSettled = true;
    };
    promise.then(settled, settled);
    for (let step = 0; !progress.isSettled && step < 1_000; step++)
      await this.clock.advance(this.clock.nextInMs ?? 0);
    return promise;
  }

  #build(random: (key: string) => number, witness: ApiWitness): SimulatedApiServer {
    return new SimulatedApiServer({
      nodeName: NODE,
      clock: this.clock,
      random,
      faults: () => this.faults,
      witness: {
        requestBegan: (request) => {
          this.began.push(request);
          witness.requestBegan?.(request);
        },
        requestLands: (request) => witness.requestLands?.(request),
        requestEnded: (request, answer) => {
          const { verb, target, abandoned } = request;
          this.ended.push(`${verb} ${target.resource}${abandoned ? ' (abandoned)' : ''}: ${answer}`);
          witness.requestEnded?.(request, answer);
        },
      },
    });
  }
}

export const pods: Collection = { resource: 'pods', namespace: 'default' };
export const podAt = (name: string): ObjectReference => ({ ...pods, name });
export const statusOf = (name: string): ObjectReference => ({ ...podAt(name), subresource: 'status' });

export function apiPod(
  name: string,
  spec: Partial<PodSpec> = {},
  metadata: Partial<Pod['metadata']> = {},
): Pod {
  return {
    metadata: { name, namespace: 'default', ...metadata },
    spec: { nodeName: NODE, containers: [{ name: 'main', image: 'x' }], restartPolicy: 'Always', ...spec },
  } as Partial<Pod> as Pod;
}

export const nodeObject = (name = NODE, more: Partial<Node> = {}): Node => ({ metadata: { name }, ...more });

/** `403 Forbidden pods "web" is forbidden: …`; `done` where the server did not refuse. */
export async function refusalOf(answer: Promise<unknown>): Promise<string> {
  try {
    await answer;
    return 'done';
  } catch (error) {
    if (error instanceof ApiError) return `${String(error.status)} ${error.reason} ${error.message}`;
    throw error;
  }
}

/** Collects the events of a watch, as `ADDED web`. */
export class Watched {
  readonly events: string[] = [];
  /** `completed`, or why it failed. */
  end: string | undefined;
  readonly subscription: Subscription;

  constructor(api: ApiServer, collection: Collection, resourceVersion: string, fieldSelector?: string) {
    const options = {
      resourceVersion,
      timeoutSeconds: 300,
      ...(fieldSelector !== undefined && { fieldSelector }),
    };
    this.subscription = api.watch(collection, options).subscribe({
      next: ({ type, object }: WatchEvent<ApiObject>) =>
        this.events.push(`${type} ${object.metadata?.name ?? ''}`),
      error: (error: unknown) => (this.end = String(error)),
      complete: () => (this.end = 'completed'),
    });
  }
}
