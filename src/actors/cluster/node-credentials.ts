/** The credentials of a node in a cluster, with the actors that keep its certificates valid. */
import type { ActorOptions, AnyActorRef } from 'xstate';
import { CertificateCredentials } from '../../cluster/credentials/certificate-credentials.ts';
import { CertificateStore } from '../../cluster/credentials/certificate-store.ts';
import { type OpenedCredentials, openCredentials } from '../../cluster/credentials/open-credentials.ts';
import type { Credentials } from '../../cluster/service/api-server.ts';
import type { certificateMachine } from '../../machines/certificate-machine.ts';
import {
  CLIENT_PURPOSE,
  clientTemplate,
  SERVING_PURPOSE,
  servingTemplate,
} from '../../policies/cluster/certificates.ts';
import type { Clock } from '../../types/clock.ts';
import type { ClusterSettings } from '../../types/node-settings.ts';
import { errorMessage } from '../../types/errors.ts';
import type { NodeAddress } from '../../types/kubernetes.ts';
import type { Logger } from '../../types/logger.ts';
import type { CertificateMeasurements } from '../../types/measurements.ts';
import { CertificateManager, type ConnectedServer } from './certificate-manager.ts';

export interface NodeCredentialsOptions {
  readonly settings: Pick<
    ClusterSettings,
    'kubeconfig' | 'bootstrapKubeconfig' | 'rotateCertificates' | 'serverTLSBootstrap'
  >;
  /** Where certificates are kept. */
  readonly certDir: string;
  readonly nodeName: string;
  /** Opens a connection with which a certificate is asked for. */
  readonly connect: (credentials: Credentials) => ConnectedServer;
  /** Called when the agent has had no valid client certificate for five minutes, and the server refuses to give one. */
  readonly onGiveUp: () => void;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly measurements?: CertificateMeasurements;
  readonly parent?: AnyActorRef;
  readonly inspect?: ActorOptions<typeof certificateMachine>['inspect'];
}

/** Rejects with what is wrong with the files; the message names file and field. Asks no server. */
export async function openNodeCredentials(options: NodeCredentialsOptions): Promise<NodeCredentials> {
  return new NodeCredentials(options, await openCredentials(options));
}

export class NodeCredentials {
  /** For the connections of the node. While there is no certificate yet, they reject and say what is waited for. */
  readonly credentials: Credentials;
  /** Undefined where the certificate is somebody else's to renew. */
  readonly client: CertificateManager | undefined;
  /** Undefined unless `serverTLSBootstrap` is set. */
  readonly serving: CertificateManager | undefined;
  readonly #options: NodeCredentialsOptions;
  readonly #opened: OpenedCredentials;

  constructor(options: NodeCredentialsOptions, opened: OpenedCredentials) {
    this.#options = options;
    this.#opened = opened;
    this.client = this.#buildClient();
    this.credentials = this.client ? new CertificateCredentials(opened.server, this.client) : opened.server;
    this.serving = this.#buildServing();
  }

  async start(): Promise<void> {
    const { client } = this.#opened;
    const { nodeName } = this.#options;
    if (client) {
      this.client?.start({
        template: clientTemplate(nodeName),
        pair: client.pair,
        mustRenew: client.mustRenew,
      });
    }
    const pair = await this.#servingStore()
      .current()
      .catch((error: unknown) => {
        this.#options.logger.warn(
          { problem: errorMessage(error) },
          'The stored serving certificate is not used',
        );
        return undefined;
      });
    this.serving?.start({ template: undefined, pair, mustRenew: false });
  }

  /** A serving certificate names the addresses of the node. */
  setAddresses(addresses: readonly NodeAddress[]): void {
    this.serving?.setTemplate(servingTemplate(this.#options.nodeName, addresses));
  }

  stop(): void {
    this.client?.stop();
    this.serving?.stop();
    if (this.credentials instanceof CertificateCredentials) this.credentials.close();
  }

  #buildClient(): CertificateManager | undefined {
    const { client } = this.#opened;
    if (client === undefined) return undefined;
    const { store, rotates, keptKey, onIssued, first } = client;
    const { connect, onGiveUp } = this.#options;
    return new CertificateManager({
      ...this.#common('client'),
      purpose: CLIENT_PURPOSE,
      store,
      rotates,
      ...(rotates && { onGiveUp }),
      connect: () => connect(this.client?.current() === undefined ? first : this.credentials),
      ...(keptKey && { keptKey }),
      onIssued,
    });
  }

  #buildServing(): CertificateManager | undefined {
    const { settings, connect } = this.#options;
    if (!settings.serverTLSBootstrap) return undefined;
    return new CertificateManager({
      ...this.#common('serving'),
      purpose: SERVING_PURPOSE,
      store: this.#servingStore(),
      rotates: true,
      connect: () => connect(this.credentials),
    });
  }

  #common<Kind extends 'client' | 'serving'>(kind: Kind) {
    const { clock, random, logger, parent, inspect, measurements } = this.#options;
    return {
      kind,
      clock,
      random,
      logger,
      ...(parent && { parent }),
      ...(inspect && { inspect }),
      ...(measurements && { measurements }),
    };
  }

  #servingStore(): CertificateStore {
    return new CertificateStore(this.#options.certDir, 'kubelet-server');
  }
}
