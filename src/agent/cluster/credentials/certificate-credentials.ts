/** Credentials whose client certificate the agent itself asks for and renews. */
import { merge, type Observable, Subject, type Subscription } from 'rxjs';
import { StateletError } from '../../../types/errors.ts';
import type { ConnectionDetails, Credentials } from '../service/api-server.ts';
import type { CertificatePair } from './certificate-pair.ts';

/** Where the certificate comes from. */
export interface CertificateSource {
  /** Undefined while there is no valid one. */
  current(): CertificatePair | undefined;
  readonly changes: Observable<undefined>;
  /** What it waits for while there is none. The same reason must have the same words: new words are logged. */
  awaited(): string;
}

/**
 * The server, its authority and the proxy come from a kubeconfig; nothing of its user, as in the kubelet: a token that only allows to ask
 * for a certificate is used for nothing else.
 */
export class CertificateCredentials implements Credentials {
  readonly changes: Observable<undefined>;
  readonly #server: Credentials;
  readonly #source: CertificateSource;
  readonly #serverChanges = new Subject<undefined>();
  readonly #subscription: Subscription;
  /** Of the server, without its user. */
  #known = '';

  constructor(server: Credentials, source: CertificateSource) {
    this.#server = server;
    this.#source = source;
    this.changes = merge(source.changes, this.#serverChanges);
    // The kubeconfig may name the file into which new certificates are written: that alone is no change of the server.
    this.#subscription = server.changes.subscribe(() => void this.#compare());
  }

  async current(): Promise<ConnectionDetails> {
    const details = withoutUser(await this.#server.current());
    this.#known = JSON.stringify(details);
    const pair = this.#source.current();
    if (pair !== undefined) return { ...details, cert: pair.cert, key: pair.key };
    throw new StateletError(
      'Unauthenticated',
      `there is no client certificate yet: ${this.#source.awaited()}`,
    );
  }

  refused(): void {
    this.#server.refused();
  }

  close(): void {
    this.#subscription.unsubscribe();
  }

  async #compare(): Promise<void> {
    const before = this.#known;
    const details = await this.#server.current().catch(() => undefined);
    if (details === undefined || before === '') return;
    this.#known = JSON.stringify(withoutUser(details));
    if (this.#known !== before) this.#serverChanges.next(undefined);
  }
}

function withoutUser(details: ConnectionDetails): ConnectionDetails {
  const { server, ca, tlsServerName, insecureSkipTLSVerify, proxyURL } = details;
  return {
    server,
    ca,
    tlsServerName,
    insecureSkipTLSVerify,
    proxyURL,
    headers: {},
  };
}
