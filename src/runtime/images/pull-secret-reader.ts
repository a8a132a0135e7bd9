import { createHash } from 'node:crypto';
import {
  badSecretMessage,
  credentialsText,
  missingSecretsMessage,
  pullSecretNames,
  readPullSecret,
  type RegistryCredentials,
} from '../../policies/images/image-credentials.ts';
import { unlessAborted } from '../../system/promises.ts';
import type { ApiObjects } from '../../types/api-objects.ts';
import type { EventRecorder } from '../../types/event-recorder.ts';
import type { Pod, Secret } from '../../types/kubernetes.ts';

/** The kubelet's reason for Secrets that it has not got. */
const REASON = 'FailedToRetrieveImagePullSecret';

/** Reads the Secrets that pods name in `imagePullSecrets`. One that is missing or malformed is told, and the pull goes on. */
export class PullSecretReader {
  readonly #objects: Pick<ApiObjects, 'secret'>;
  readonly #recorder: EventRecorder;

  constructor(objects: Pick<ApiObjects, 'secret'>, recorder: EventRecorder) {
    this.#objects = objects;
    this.#recorder = recorder;
  }

  /** The credentials of all Secrets of the pod, in the order of the spec. Rejects only with the reason of the signal. */
  async read(pod: Pod, signal: AbortSignal): Promise<readonly RegistryCredentials[]> {
    const names = pullSecretNames(pod.spec.imagePullSecrets);
    if (names.length === 0) return [];
    const secrets = await Promise.all(names.map((name) => this.#secret(pod, name, signal)));
    const missing = names.filter((_, index) => secrets[index] === undefined);
    if (missing.length > 0) this.#warn(pod, missingSecretsMessage(missing));
    return secrets.flatMap((secret) => (secret ? this.#credentials(pod, secret) : []));
  }

  /** As with the kubelet, a Secret that the server does not give for now is missing for this pull. */
  async #secret({ metadata }: Pod, name: string, signal: AbortSignal): Promise<Secret | undefined> {
    try {
      return await unlessAborted(this.#objects.secret(metadata.namespace, name), signal);
    } catch {
      signal.throwIfAborted();
      return undefined;
    }
  }

  #credentials(pod: Pod, secret: Secret): readonly RegistryCredentials[] {
    const { namespace = '', name = '', uid = '' } = secret.metadata ?? {};
    const { credentials, problems } = readPullSecret(secret);
    if (problems.length > 0) this.#warn(pod, badSecretMessage(name, problems));
    return credentials.map((one) => {
      const credentialHash = createHash('sha256').update(credentialsText(one)).digest('hex');
      return { ...one, source: { secret: { uid, namespace, name, credentialHash } } };
    });
  }

  #warn({ metadata }: Pod, message: string): void {
    this.#recorder.event(metadata, 'Warning', REASON, message);
  }
}
