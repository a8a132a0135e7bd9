import type { Clock } from '../../types/clock.ts';
import type { ApiServer } from '../service/api-server.ts';
import type { ConfigObject, ConfigObjectReference, ObjectSource } from './object-source.ts';
import { type ObjectAccess, readObject } from './read-object.ts';

/** The strategy `Get`: each read asks the server, and nothing is kept. */
export class FetchedObjects implements ObjectSource {
  readonly #access: ObjectAccess;

  constructor(api: ApiServer, clock: Clock) {
    this.#access = { api, clock };
  }

  referred(): void {
    // Nothing is prepared.
  }

  forgotten(): void {
    // Nothing was kept.
  }

  read(reference: ConfigObjectReference): Promise<ConfigObject | undefined> {
    return readObject(this.#access, reference);
  }

  close(): void {
    // Nothing is under way for longer than a read.
  }
}
