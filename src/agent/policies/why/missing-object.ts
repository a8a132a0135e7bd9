/** Which ConfigMap, Secret or PersistentVolumeClaim a pod waits for, by the messages about what it lacks. */
import type { Pod } from '../../../types/kubernetes.ts';
import { named } from '../formats/lookups.ts';
import { fileSources } from '../volumes/volume-source.ts';

const KINDS: Readonly<Record<string, string>> = {
  configmap: 'ConfigMap',
  secret: 'Secret',
  persistentvolumeclaims: 'PersistentVolumeClaim',
};

const MISSING = /\b(configmap|secret|persistentvolumeclaims) "([^"]+)" not found$/u;
const KEY_OF_VARIABLE = /couldn't find key (\S+) in ((?:ConfigMap|Secret) \S+)$/u;
const KEY_OF_VOLUME =
  /volume "([^"]+)" : (configmap references non-existent config|references non-existent secret) key: (\S+)$/u;

/** `ConfigMap default/app, key color, which does not exist`; undefined for a message that is about something else. */
export function missingObject(message: string, pod: Pod): string | undefined {
  const what = missingIn(message, pod);
  return what === undefined ? undefined : `${what}, which does not exist`;
}

function missingIn(message: string, pod: Pod): string | undefined {
  const [, kind = '', name = ''] = MISSING.exec(message) ?? [];
  if (name !== '') return `${KINDS[kind] ?? kind} ${pod.metadata.namespace}/${name}`;
  const [, key, object] = KEY_OF_VARIABLE.exec(message) ?? [];
  if (object !== undefined) return `${object}, key ${key ?? ''}`;
  return missingKeyOfVolume(message, pod);
}

/** The message names the volume and not the object. */
function missingKeyOfVolume(message: string, { metadata, spec }: Pod): string | undefined {
  const [, volumeName = '', words = '', key = ''] = KEY_OF_VOLUME.exec(message) ?? [];
  const volume = named(spec.volumes ?? [], volumeName);
  if (volume === undefined) return undefined;
  const isSecret = words.includes('secret');
  const sources = fileSources(volume).flatMap(
    ({ secret, configMap }) => (isSecret ? secret : configMap) ?? [],
  );
  const name = sources.find(({ items = [] }) => items.some((item) => item.key === key))?.name;
  return name && `${isSecret ? 'Secret' : 'ConfigMap'} ${metadata.namespace}/${name}, key ${key}`;
}
