/** Which ConfigMaps, Secrets and PersistentVolumeClaims a pod waits for, by the messages about what it lacks. */
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

/** So many are named at most. */
const NAMED_MAX = 10;

/** `Secret default/app and key color of ConfigMap default/app, which do not exist`; undefined where no message is about such an object. */
export function missingObjects(messages: readonly string[], pod: Pod): string | undefined {
  const all = [...new Set(messages.flatMap(apart).flatMap((one) => missingIn(one, pod) ?? []))];
  const more = all.length - NAMED_MAX;
  const shown = more > 0 ? [...all.slice(0, NAMED_MAX), `${more} more`] : all;
  const last = shown.at(-1);
  if (last === undefined) return undefined;
  const before = shown.slice(0, -1).join(', ');
  return before === '' ? `${last}, which does not exist` : `${before} and ${last}, which do not exist`;
}

/** Of the messages, those about something else. */
export function otherProblems(messages: readonly string[], pod: Pod): readonly string[] {
  return messages.filter((message) => apart(message).some((one) => missingIn(one, pod) === undefined));
}

/** A projected volume tells all problems of its sources in one message: `… volume "all" : [one, two]`. */
function apart(message: string): readonly string[] {
  const [, start = '', list] = /^(.*volume "[^"]+" : )\[(.*)\]$/u.exec(message) ?? [];
  return list === undefined ? [message] : list.split(', ').map((one) => `${start}${one}`);
}

function missingIn(message: string, pod: Pod): string | undefined {
  const [, kind = '', name = ''] = MISSING.exec(message) ?? [];
  if (name !== '') return `${KINDS[kind] ?? kind} ${pod.metadata.namespace}/${name}`;
  const [, key, object] = KEY_OF_VARIABLE.exec(message) ?? [];
  if (object !== undefined) return `key ${key ?? ''} of ${object}`;
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
  return name && `key ${key} of ${isSecret ? 'Secret' : 'ConfigMap'} ${metadata.namespace}/${name}`;
}
