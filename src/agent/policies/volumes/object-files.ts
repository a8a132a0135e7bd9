/** The files of ConfigMaps and Secrets, and who may read those with credentials. */
import { StateletError } from '../../../types/errors.ts';
import type {
  ClusterTrustBundle,
  ConfigMap,
  LabelSelector,
  Pod,
  Secret,
  TrustBundleSelection,
} from '../../../types/kubernetes.ts';
import type { VolumeFile } from './projected-files.ts';
import { podFsGroup } from './volume-ownership.ts';
import type { VolumeProjection } from './volume-source.ts';

type Source = NonNullable<VolumeProjection['configMap']>;
type Content = string | Uint8Array;

const OWNER_ONLY = 0o600;

/** Without `items` a file for each key. Throws a StateletError of kind NotFound for a key that is missing and not optional. */
export function configMapFiles(
  { data = {}, binaryData = {} }: ConfigMap,
  source: Source,
  defaultMode: number,
): readonly VolumeFile[] {
  // As with the kubelet, of a key that is in both an item has the text, and a volume without items the bytes.
  if (!source.items?.length) return allFiles({ ...data, ...mapped(binaryData, bytesOf) }, defaultMode);
  const valueOf = (key: string) => own(data, key) ?? decoded(own(binaryData, key));
  return filesOfItems(valueOf, source, defaultMode, 'configmap references non-existent config key');
}

/** Without `items` a file for each key. Throws a StateletError of kind NotFound for a key that is missing and not optional. */
export function secretFiles(
  { data = {} }: Secret,
  source: Source,
  defaultMode: number,
): readonly VolumeFile[] {
  if (!source.items?.length) return allFiles(mapped(data, bytesOf), defaultMode);
  const valueOf = (key: string) => decoded(own(data, key));
  return filesOfItems(valueOf, source, defaultMode, 'references non-existent secret key');
}

function allFiles(contents: Readonly<Record<string, Content>>, mode: number): readonly VolumeFile[] {
  return Object.entries(contents).map(([path, content]) => ({ path, content, mode }));
}

/** `valueOf`: is asked once for each key, since many items may name one large value. */
function filesOfItems(
  valueOf: (key: string) => Content | undefined,
  { items = [], optional }: Source,
  defaultMode: number,
  missing: string,
): readonly VolumeFile[] {
  const values = new Map<string, Content | undefined>();
  return items.flatMap(({ key, path, mode = defaultMode }) => {
    if (!values.has(key)) values.set(key, valueOf(key));
    const content = values.get(key);
    if (content !== undefined) return [{ path, content, mode }];
    if (optional === true) return [];
    throw new StateletError('NotFound', `${missing}: ${key}`);
  });
}

function own(texts: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(texts, key) ? texts[key] : undefined;
}

function decoded(base64: string | undefined): Uint8Array | undefined {
  return base64 === undefined ? undefined : bytesOf(base64);
}

function mapped<T>(texts: Readonly<Record<string, string>>, map: (text: string) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, map(text)]));
}

/** The bytes of a base64 text. A function for each character would take half a second for a large Secret. */
export function bytesOf(base64: string): Uint8Array {
  const characters = atob(base64);
  const bytes = new Uint8Array(characters.length);
  for (let index = 0; index < bytes.length; index++) bytes[index] = characters.charCodeAt(index);
  return bytes;
}

/** Who may read the files of a token, of trust bundles and of certificates. */
export interface FileReaders {
  /** The user of all containers, where they have the same one. */
  readonly user?: number;
  readonly fsGroup?: number;
}

export function fileReaders(pod: Pod): FileReaders {
  const user = commonUser(pod);
  const fsGroup = podFsGroup(pod);
  return { user, fsGroup };
}

/** Only the readers that are named may read the file; where there are none, all may. */
export function credentialFile(
  path: string,
  content: string,
  { user, fsGroup }: FileReaders,
  defaultMode: number,
): VolumeFile {
  const isPrivate = user !== undefined || fsGroup !== undefined;
  const mode = isPrivate ? OWNER_ONLY : defaultMode;
  return { path, content, mode, owner: user };
}

/** The user of all containers, where they have the same one. An ephemeral container that comes later changes nothing. */
function commonUser({ spec }: Pod): number | undefined {
  const users = [...(spec.initContainers ?? []), ...spec.containers].map(
    ({ securityContext }) => securityContext?.runAsUser ?? spec.securityContext?.runAsUser,
  );
  return new Set(users).size === 1 ? users[0] : undefined;
}

const BLOCK = /^-----BEGIN ([^\n-]*)-----[ \t\r]*\n([^-]*)^-----END \1-----/gmu;

const BASE64 = /^[\d+/A-Za-z]*={0,2}$/u;

const COLUMNS = 64;

/** The bundle of that name, or the bundles of the signer that the selector selects. */
export function selectedBundles(
  bundles: readonly ClusterTrustBundle[],
  { name, signerName, labelSelector }: TrustBundleSelection,
): readonly ClusterTrustBundle[] {
  return bundles.filter(({ metadata, spec }) =>
    name === undefined
      ? spec.signerName === signerName && matchesSelector(labelSelector, metadata?.labels)
      : metadata?.name === name,
  );
}

/**
 * All certificates in PEM, each once. As with the kubelet, what stands around and inside the blocks is left out, and the order has no
 * meaning; it is always the same, so that the file is only written when a certificate comes or goes.
 */
export function trustAnchors(bundles: readonly ClusterTrustBundle[]): string {
  const anchors = new Set(bundles.flatMap(({ spec }) => blocksOf(spec.trustBundle)));
  return [...anchors].sort().map(pemOf).join('');
}

/** The contents of the PEM blocks, in base64. */
function blocksOf(text: string): string[] {
  return Array.from(text.replaceAll('\r\n', '\n').matchAll(BLOCK), ([, , body = '']) =>
    body.replaceAll(/\s/gu, ''),
  ).filter((body) => body !== '' && body.length % 4 === 0 && BASE64.test(body));
}

function pemOf(base64: string): string {
  const lines = base64.match(new RegExp(`.{1,${COLUMNS}}`, 'gu')) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

type Labels = Readonly<Record<string, string>>;

type Requirement = NonNullable<LabelSelector['matchExpressions']>[number];

/** An empty selector selects everything, no selector nothing. A requirement of an unknown operator selects nothing. */
export function matchesSelector(selector: LabelSelector | undefined, labels: Labels = {}): boolean {
  if (selector === undefined) return false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every((requirement) => matches(requirement, labels))
  );
}

function matches({ key, operator, values = [] }: Requirement, labels: Labels): boolean {
  const label = labels[key];
  switch (operator) {
    case 'In':
      return label !== undefined && values.includes(label);
    case 'NotIn':
      return label === undefined || !values.includes(label);
    case 'Exists':
      return label !== undefined;
    case 'DoesNotExist':
      return label === undefined;
    default:
      return false;
  }
}
