/**
 * What the node knows of an image that it has pulled: with whose credentials. By it a pod that was not given these credentials is kept
 * from an image that is present. The records are the kubelet's, in its format.
 */
import { isJsonObject } from '../formats/canonical-json.ts';

export interface ImagePullSecret {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** Of user name and password; empty where there is none. */
  readonly credentialHash: string;
}

/** A service account whose token an image was pulled with. */
export interface ImagePullServiceAccount {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** Whose credentials they are. */
export type CredentialSource =
  | { readonly secret: ImagePullSecret }
  | { readonly serviceAccount: ImagePullServiceAccount };

export interface ImagePullCredentials {
  readonly kubernetesSecrets?: readonly ImagePullSecret[];
  readonly kubernetesServiceAccounts?: readonly ImagePullServiceAccount[];
  /** The image was pulled without credentials, or with those of the node: every pod may use it. */
  readonly nodePodsAccessible?: boolean;
}

export interface ImagePulledRecord {
  readonly kind: 'ImagePulledRecord';
  readonly apiVersion: string;
  readonly lastUpdatedTime: string;
  /** The runtime's id of the image. */
  readonly imageRef: string;
  /** By the name of the image without tag and digest. */
  readonly credentialMapping: Readonly<Record<string, ImagePullCredentials>>;
}

export interface ImagePullIntent {
  readonly kind: 'ImagePullIntent';
  readonly apiVersion: string;
  /** As in the pod's spec. */
  readonly image: string;
}

export const RECORD_API_VERSION = 'kubelet.config.k8s.io/v1beta1';
/** That of the kubelet before 1.35. */
const READ_API_VERSIONS: readonly unknown[] = [RECORD_API_VERSION, 'kubelet.config.k8s.io/v1alpha1'];
/** Secrets that were only seen to hold known credentials are not recorded beyond this number: namespaces come and go. */
const SEEN_SECRETS_MAX = 100;

export function credentialsFrom(source: CredentialSource | undefined): ImagePullCredentials {
  if (source === undefined) return { nodePodsAccessible: true };
  return 'secret' in source
    ? { kubernetesSecrets: [source.secret] }
    : { kubernetesServiceAccounts: [source.serviceAccount] };
}

export interface Pulled {
  readonly imageRef: string;
  /** The name of the image without tag and digest. */
  readonly name: string;
  /** Undefined: it is not known how it was pulled. Its next pod has to show credentials. */
  readonly credentials: ImagePullCredentials | undefined;
  /** RFC 3339. */
  readonly now: string;
}

/** The record with what is known now. Undefined where it was known before. */
export function recordWith(
  record: ImagePulledRecord | undefined,
  { imageRef, name, credentials, now }: Pulled,
): ImagePulledRecord | undefined {
  const known = record?.credentialMapping ?? {};
  const merged = credentials && mergedCredentials(known[name], credentials);
  if (record !== undefined && merged === undefined) return undefined;
  return {
    kind: 'ImagePulledRecord',
    apiVersion: RECORD_API_VERSION,
    lastUpdatedTime: now,
    imageRef,
    credentialMapping: { ...known, ...(merged && { [name]: merged }) },
  };
}

/** Undefined where nothing is new. */
function mergedCredentials(
  known: ImagePullCredentials | undefined,
  added: ImagePullCredentials,
): ImagePullCredentials | undefined {
  if (known === undefined) return added;
  if (known.nodePodsAccessible) return undefined;
  if (added.nodePodsAccessible) return { nodePodsAccessible: true };
  const secrets = merged(known.kubernetesSecrets ?? [], added.kubernetesSecrets ?? []);
  const accounts = merged(known.kubernetesServiceAccounts ?? [], added.kubernetesServiceAccounts ?? []);
  if (secrets === undefined && accounts === undefined) return undefined;
  return {
    ...known,
    ...(secrets && { kubernetesSecrets: secrets }),
    ...(accounts && { kubernetesServiceAccounts: accounts }),
  };
}

type Named = ImagePullServiceAccount & { readonly credentialHash?: string };

/** Sorted by namespace, name and UID. Undefined where nothing is new. */
function merged<T extends Named>(known: readonly T[], added: readonly T[]): readonly T[] | undefined {
  const isNew = (one: T) =>
    !known.some((other) => isSame(one, other) && one.credentialHash === other.credentialHash);
  if (!added.some(isNew)) return undefined;
  const others = known.filter((one) => !added.some((other) => isSame(one, other)));
  const key = ({ namespace, name, uid }: Named) => [namespace, name, uid].join('\0');
  return [...others, ...added].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

function isSame(a: ImagePullServiceAccount, b: ImagePullServiceAccount): boolean {
  return a.uid === b.uid && a.namespace === b.namespace && a.name === b.name;
}

/**
 * What the record says to a pod that wants to use the image: it may, or the registry has to be asked, or it depends on the credentials
 * that the pod has.
 */
export function recordedAccess(
  record: ImagePulledRecord | undefined,
  name: string,
): 'granted' | 'ask the registry' | 'depends on credentials' {
  const known = record?.credentialMapping[name];
  if (known === undefined) return 'ask the registry';
  if (known.nodePodsAccessible) return 'granted';
  const count = (known.kubernetesSecrets?.length ?? 0) + (known.kubernetesServiceAccounts?.length ?? 0);
  return count === 0 ? 'ask the registry' : 'depends on credentials';
}

export interface Access {
  readonly isGranted: boolean;
  /** What was learned while comparing, and is to be recorded. */
  readonly learned?: ImagePullCredentials;
}

/** Whether one of the pod's credentials is one that the image was pulled with. */
export function accessWith(
  record: ImagePulledRecord,
  name: string,
  sources: readonly (CredentialSource | undefined)[],
): Access {
  const known = record.credentialMapping[name] ?? {};
  const recorded = known.kubernetesSecrets ?? [];
  for (const source of sources) {
    if (source === undefined || !('secret' in source)) continue;
    const access = accessWithSecret(recorded, source.secret);
    if (access.isGranted) return access;
  }
  // As for the kubelet, only the first service account counts: a pod has one.
  const account = sources.find((source) => source !== undefined && 'serviceAccount' in source);
  const accounts = known.kubernetesServiceAccounts ?? [];
  return {
    isGranted:
      account !== undefined &&
      'serviceAccount' in account &&
      accounts.some((one) => isSame(one, account.serviceAccount)),
  };
}

/** The same credentials in another Secret, and other credentials in the same Secret, are recorded as well. */
function accessWithSecret(recorded: readonly ImagePullSecret[], secret: ImagePullSecret): Access {
  const hasRoom = recorded.length < SEEN_SECRETS_MAX;
  const learned = { kubernetesSecrets: [secret] };
  for (const known of recorded) {
    const hasSameHash = known.credentialHash !== '' && known.credentialHash === secret.credentialHash;
    if (hasSameHash) {
      return { isGranted: true, ...(!isSame(known, secret) && hasRoom && { learned }) };
    }
    if (isSame(known, secret) && hasRoom) return { isGranted: true, learned };
  }
  return { isGranted: false };
}

/** Undefined for content that is no such record. */
export function readPulledRecord(content: unknown): ImagePulledRecord | undefined {
  if (!isRecord(content, 'ImagePulledRecord') || typeof content.imageRef !== 'string') return undefined;
  const mapping = content.credentialMapping ?? {};
  if (!isJsonObject(mapping) || !Object.values(mapping).every(areCredentials)) return undefined;
  const { lastUpdatedTime } = content;
  return {
    kind: 'ImagePulledRecord',
    apiVersion: RECORD_API_VERSION,
    lastUpdatedTime: typeof lastUpdatedTime === 'string' ? lastUpdatedTime : '',
    imageRef: content.imageRef,
    credentialMapping: mapping as ImagePulledRecord['credentialMapping'],
  };
}

/** The image of the intent. Undefined for content that is no intent. */
export function readPullIntent(content: unknown): string | undefined {
  if (!isRecord(content, 'ImagePullIntent')) return undefined;
  return typeof content.image === 'string' ? content.image : undefined;
}

function isRecord(content: unknown, kind: string): content is Readonly<Record<string, unknown>> {
  return isJsonObject(content) && content.kind === kind && READ_API_VERSIONS.includes(content.apiVersion);
}

function areCredentials(value: unknown): value is ImagePullCredentials {
  if (!isJsonObject(value)) return false;
  const { kubernetesSecrets = [], kubernetesServiceAccounts = [], nodePodsAccessible = false } = value;
  return (
    typeof nodePodsAccessible === 'boolean' &&
    areTexts(kubernetesSecrets, ['uid', 'namespace', 'name', 'credentialHash']) &&
    areTexts(kubernetesServiceAccounts, ['uid', 'namespace', 'name'])
  );
}

function areTexts(value: unknown, fields: readonly string[]): boolean {
  return (
    Array.isArray(value) &&
    value.every(
      (item: unknown) => isJsonObject(item) && fields.every((field) => typeof item[field] === 'string'),
    )
  );
}
