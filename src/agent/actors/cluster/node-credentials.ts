/** The credentials of a node in a cluster, with the actors that keep its certificates valid. */
import { CertificateCredentials } from '../../cluster/credentials/certificate-credentials.ts';
import { CertificateStore } from '../../cluster/credentials/certificate-store.ts';
import { type OpenedCredentials, openCredentials } from '../../cluster/credentials/open-credentials.ts';
import type { Credentials } from '../../cluster/service/api-server.ts';
import {
  CLIENT_PURPOSE,
  clientTemplate,
  SERVING_PURPOSE,
  servingTemplate,
} from '../../policies/cluster/certificates.ts';
import type { ClusterSettings } from '../../../types/node-settings.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { NodeAddress } from '../../../types/kubernetes.ts';
import type { ActorContext } from '../actor-context.ts';
import { CertificateManager, type ConnectedServer } from './certificate-manager.ts';

export interface NodeCredentialsParts {
  readonly settings: Pick<
    ClusterSettings,
    'kubeconfig' | 'bootstrapKubeconfig' | 'rotateCertificates' | 'serverTLSBootstrap'
  >;
  /** Where certificates are kept. */
  readonly certDir: string;
  readonly nodeName: string;
  /** Opens a connection over which a certificate is requested. */
  readonly connect: (credentials: Credentials) => ConnectedServer;
  /** Called when the agent has had no valid client certificate for five minutes, and the server refuses to give one. */
  readonly onGiveUp: () => void;
}

/** Reads the files only. Rejects if one is wrong; the message names the file and the field. */
export async function openNodeCredentials(
  context: ActorContext,
  parts: NodeCredentialsParts,
): Promise<NodeCredentials> {
  return new NodeCredentials(context, parts, await openCredentials({ ...context, ...parts }));
}

export class NodeCredentials {
  /** For the connections of the node. Until there is a certificate they reject, with what they wait for. */
  readonly credentials: Credentials;
  /** Undefined where the agent does not renew the certificate itself. */
  readonly client: CertificateManager | undefined;
  /** Undefined unless `serverTLSBootstrap` is set. */
  readonly serving: CertificateManager | undefined;
  readonly #context: ActorContext;
  readonly #parts: NodeCredentialsParts;
  readonly #opened: OpenedCredentials;

  constructor(context: ActorContext, parts: NodeCredentialsParts, opened: OpenedCredentials) {
    this.#context = context;
    this.#parts = parts;
    this.#opened = opened;
    this.client = this.#buildClient();
    this.credentials = this.client ? new CertificateCredentials(opened.server, this.client) : opened.server;
    this.serving = this.#buildServing();
  }

  async start(): Promise<void> {
    const { client } = this.#opened;
    const { nodeName } = this.#parts;
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
        this.#context.logger.warn(
          { problem: errorMessage(error) },
          'The stored serving certificate is not used',
        );
        return undefined;
      });
    this.serving?.start({ template: undefined, pair, mustRenew: false });
  }

  /** A serving certificate names the addresses of the node. */
  setAddresses(addresses: readonly NodeAddress[]): void {
    this.serving?.setTemplate(servingTemplate(this.#parts.nodeName, addresses));
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
    const { connect, onGiveUp } = this.#parts;
    return new CertificateManager(this.#context, {
      kind: 'client',
      purpose: CLIENT_PURPOSE,
      store,
      rotates,
      onGiveUp: rotates ? onGiveUp : undefined,
      connect: () => connect(this.client?.current() === undefined ? first : this.credentials),
      keptKey,
      onIssued,
    });
  }

  #buildServing(): CertificateManager | undefined {
    const { settings, connect } = this.#parts;
    if (!settings.serverTLSBootstrap) return undefined;
    return new CertificateManager(this.#context, {
      kind: 'serving',
      purpose: SERVING_PURPOSE,
      store: this.#servingStore(),
      rotates: true,
      connect: () => connect(this.credentials),
    });
  }

  #servingStore(): CertificateStore {
    return new CertificateStore(this.#parts.certDir, 'kubelet-server');
  }
}
