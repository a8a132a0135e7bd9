import type { Subscription } from 'rxjs';
import type { KnownServices } from '../../../types/api-objects.ts';
import type { Service } from '../../../types/kubernetes.ts';
import type { ApiServer } from '../service/api-server.ts';
import { reflect, type WatchTiming } from './reflect.ts';

/** A service without an address of the cluster has no variables, and is not asked for. */
const WITH_ADDRESS = 'spec.clusterIP!=None';

/** The services of the cluster, watched from the start on: variables of containers name their addresses. */
export class ServiceWatch {
  readonly #watch: Subscription;
  #known: KnownServices = { listed: false, services: [] };

  /** `onListed`: the services are known from now on. */
  constructor(timing: WatchTiming, api: ApiServer, onListed?: () => void) {
    // A cluster has many services and many nodes: a list an hour of each would be much.
    const options = { ...timing, fieldSelector: WITH_ADDRESS, keep: addressOf, relistAfterMs: Infinity };
    this.#watch = reflect<Service>(api, { resource: 'services' }, options).subscribe(({ objects }) => {
      if (objects === undefined) return;
      const isFirst = !this.#known.listed;
      this.#known = { listed: true, services: objects };
      if (isFirst) onListed?.();
    });
  }

  /** As they are now. */
  get known(): KnownServices {
    return this.#known;
  }

  close(): void {
    this.#watch.unsubscribe();
  }
}

/** What variables are made from: a cluster may have thousands of services. */
function addressOf({ metadata = {}, spec = {} }: Service): Service {
  const { name, namespace, uid, resourceVersion } = metadata;
  const { clusterIP, ports } = spec;
  return { metadata: { name, namespace, uid, resourceVersion }, spec: { clusterIP, ports } };
}
