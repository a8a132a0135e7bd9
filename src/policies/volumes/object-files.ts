/** The files of ConfigMaps and Secrets, and who may read the file of a token. */
import { StateletError } from '../../types/errors.ts';
import type { ConfigMap, Pod, Secret } from '../../types/kubernetes.ts';
import type { VolumeFile } from './projected-files.ts';
import { podContainers, type VolumeProjection } from './volume-source.ts';

type Source = NonNullable<VolumeProjection['configMap']>;
type Values = ReadonlyMap<string, string | Uint8Array>;

const OWNER_ONLY = 0o600;

/** Without `items` a file for each key. Throws a StateletError of kind NotFound for a key that is missing and not optional. */
export function configMapFiles(
  { data = {}, binaryData = {} }: ConfigMap,
  source: Source,
  defaultMode: number,
): readonly VolumeFile[] {
  const binary = Object.entries(binaryData).map(([key, value]) => [key, bytesOf(value)] as const);
  const values = new Map<string, string | Uint8Array>([...Object.entries(data), ...binary]);
  return filesOfKeys(values, source, defaultMode, 'configmap references non-existent config key');
}

/** Without `items` a file for each key. Throws a StateletError of kind NotFound for a key that is missing and not optional. */
export function secretFiles(
  { data = {} }: Secret,
  source: Source,
  defaultMode: number,
): readonly VolumeFile[] {
  const values = new Map(Object.entries(data).map(([key, value]) => [key, bytesOf(value)] as const));
  return filesOfKeys(values, source, defaultMode, 'references non-existent secret key');
}

function filesOfKeys(
  values: Values,
  { items, optional }: Source,
  defaultMode: number,
  missing: string,
): readonly VolumeFile[] {
  if (!items?.length) return Array.from(values, ([path, content]) => ({ path, content, mode: defaultMode }));
  return items.flatMap(({ key, path, mode = defaultMode }) => {
    const content = values.get(key);
    if (content !== undefined) return [{ path, content, mode }];
    if (optional === true) return [];
    throw new StateletError('NotFound', `${missing}: ${key}`);
  });
}

/** The bytes of a base64 text. */
export function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** Only those whom the pod names as users or group of its files may read the token; where it names none, all may. */
export function tokenFile(pod: Pod, path: string, token: string, defaultMode: number): VolumeFile {
  const owner = commonUser(pod);
  const isPrivate = owner !== undefined || pod.spec.securityContext?.fsGroup !== undefined;
  return {
    path,
    content: token,
    mode: isPrivate ? OWNER_ONLY : defaultMode,
    ...(owner !== undefined && { owner }),
  };
}

/** The user of all containers, where they have the same one. */
function commonUser({ spec }: Pod): number | undefined {
  const users = podContainers(spec).map(
    ({ securityContext }) => securityContext?.runAsUser ?? spec.securityContext?.runAsUser,
  );
  return new Set(users).size === 1 ? users[0] : undefined;
}
