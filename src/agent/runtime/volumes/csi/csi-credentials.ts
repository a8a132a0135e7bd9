/** Secrets and tokens that a CSI driver gets with a volume. They must not appear in logs, events or errors. */
import { CSI_TOKENS_KEY, type SecretReference } from '../../../policies/volumes/csi-source.ts';
import type { ApiObjects, StorageObjects } from '../../../../types/api-objects.ts';
import { errorMessage, StateletError } from '../../../../types/errors.ts';
import type { CSIDriver, Pod } from '../../../../types/kubernetes.ts';

type Texts = Readonly<Record<string, string>>;

const TOKEN_SECONDS = 3_600;

/** `field`: the one of the volume that names the secret. */
export async function csiSecrets(
  storage: Pick<StorageObjects, 'volumeSecret'>,
  field: string,
  reference: SecretReference | undefined,
): Promise<Texts> {
  if (reference === undefined) return {};
  const { namespace, name } = reference;
  const failed = (problem: string) =>
    new StateletError('NotFound', `fetching ${field} ${namespace}/${name} failed: ${problem}`);
  const secret = await storage.volumeSecret(namespace, name).catch((error: unknown) => {
    throw failed(errorMessage(error));
  });
  if (secret === undefined) throw failed(`secrets "${name}" not found`);
  const decoded = Object.entries(secret.data ?? {}).map(
    ([key, value]) => [key, Buffer.from(value, 'base64').toString()] as const,
  );
  return Object.fromEntries(decoded);
}

/** Tokens of the pod's service account, for the audiences that the driver's object names. */
export async function csiTokens(
  objects: Pick<ApiObjects, 'token'>,
  pod: Pod,
  object: CSIDriver | undefined,
): Promise<Texts> {
  const requests = object?.spec.tokenRequests ?? [];
  if (requests.length === 0) return {};
  const tokens: Record<string, object> = {};
  for (const { audience, expirationSeconds = TOKEN_SECONDS } of requests) {
    const token = await objects.token(pod, { audience, expirationSeconds });
    tokens[audience] = { token, expirationTimestamp: expiryOf(token) };
  }
  return { [CSI_TOKENS_KEY]: JSON.stringify(tokens) };
}

/** Of a JWT; undefined where the token is none. */
function expiryOf(token: string): string | undefined {
  try {
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
      exp?: unknown;
    };
    return typeof claims.exp === 'number' ? new Date(claims.exp * 1000).toISOString() : undefined;
  } catch {
    return undefined;
  }
}
