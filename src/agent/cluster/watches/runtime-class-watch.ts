import type { Subscription } from 'rxjs';
import type { RuntimeClasses } from '../../policies/cri/sandbox-config.ts';
import type { RuntimeClass } from '../../../types/kubernetes.ts';
import type { ApiServer } from '../service/api-server.ts';
import { reflect, type WatchTiming } from './reflect.ts';

/**
 * The handlers of the cluster's RuntimeClasses by the names of the classes. Classes that the node's settings name are known too, so
 * that static pods can have them while the API server is away; a class of the cluster counts before them.
 */
export class RuntimeClassWatch implements RuntimeClasses {
  readonly areOfCluster = true;
  readonly #fromSettings: ReadonlyMap<string, string>;
  readonly #watch: Subscription;
  #handlers: ReadonlyMap<string, string>;

  constructor(api: ApiServer, { handlers: fromSettings }: RuntimeClasses, timing: WatchTiming) {
    this.#fromSettings = fromSettings;
    this.#handlers = fromSettings;
    this.#watch = reflect<RuntimeClass>(api, { resource: 'runtimeclasses' }, timing).subscribe(
      ({ objects }) => {
        if (objects) this.#handlers = new Map([...this.#fromSettings, ...objects.map(nameAndHandler)]);
      },
    );
  }

  /** As they are now. */
  get handlers(): ReadonlyMap<string, string> {
    return this.#handlers;
  }

  close(): void {
    this.#watch.unsubscribe();
  }
}

function nameAndHandler({ metadata, handler }: RuntimeClass): [string, string] {
  return [metadata?.name ?? '', handler];
}
