import { Subject } from 'rxjs';
import type { ConnectionDetails, Credentials } from '../../../src/agent/cluster/service/api-server.ts';

/** Credentials that a test sets. */
export class FixedCredentials implements Credentials {
  readonly changes = new Subject<undefined>();
  /** How often the server did not accept them. */
  refusals = 0;
  #details: ConnectionDetails;

  constructor(details: ConnectionDetails) {
    this.#details = details;
  }

  current(): Promise<ConnectionDetails> {
    return Promise.resolve(this.#details);
  }

  refused(): void {
    this.refusals += 1;
  }

  change(details: ConnectionDetails): void {
    this.#details = details;
    this.changes.next(undefined);
  }
}
