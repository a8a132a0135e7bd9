/** `statelet delete`: ends pods of manifests until these change, and removes the manifests that `statelet apply` has written. */
import { parseDuration } from '../../agent/policies/formats/duration.ts';
import { STATE_ANNOTATION } from '../../agent/server/routes/local-routes.ts';
import { errorKind, invalid, StateletError } from '../../types/errors.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { chosenPod, type NamespaceFlags, parsePodName, type PodName, podsOf } from './chosen-pod.ts';
import { type DaemonConnection, type FolderFlags, withDaemon } from './daemon-connection.ts';
import { labelSelector } from './label-selector.ts';
import { type InputFlags, manifestDocuments } from './manifest-input.ts';
import { isTypeWord, kindOf, namedObjects } from './named-objects.ts';

export interface DeleteFlags extends FolderFlags, NamespaceFlags, InputFlags {
  readonly all?: boolean;
  readonly gracePeriod?: number;
  readonly now?: boolean;
  readonly wait?: boolean;
  readonly timeout?: string;
  readonly ignoreNotFound?: boolean;
  readonly output?: 'name';
  readonly selector?: string;
}

/** Writes a line for each pod. With `wait`, each line comes when the containers of its pod have ended. */
export async function deletePods(
  words: readonly string[],
  flags: DeleteFlags,
  write: (text: string) => void,
): Promise<void> {
  const objects = [...objectsIn(words, flags), ...(await objectsOfManifests(flags))];
  checkChoice(objects, flags);
  const others = objects.filter(({ kind }) => kind !== 'Pod');
  const names = objects.flatMap(({ kind, text }) => (kind === 'Pod' ? [text] : []));
  const timeoutMs = timeoutOf(flags.timeout);
  await withDaemon(flags, async (daemon) => {
    const pods = objects.length === 0 ? await allPods(daemon, flags) : await namedPods(daemon, names, flags);
    if (pods.length === 0 && objects.length === 0) write('No pods.\n');
    // Pods may need what they refer to until they have ended.
    await Promise.all(
      pods.map(async (pod) => {
        const manifest = await deletePod(daemon, pod, flags, timeoutMs);
        write(lineOf(pod, manifest, flags));
      }),
    );
    for (const { kind, text } of others)
      write(await deleteObject(daemon, kind, parsePodName(text, flags), flags));
  });
}

interface ToDelete {
  readonly kind: string;
  /** `web`, `pod/web` or `default/web`. */
  readonly text: string;
}

/** `pod web`, `pods web db`, `pod/web`, `cm settings`, or names of pods alone. */
function objectsIn(words: readonly string[], { all, selector }: DeleteFlags): readonly ToDelete[] {
  if (!isTypeWord((words[0] ?? '').split('/')[0] ?? '')) return words.map((text) => ({ kind: 'Pod', text }));
  const { type, names } = namedObjects(words);
  if (type === 'nodes') throw invalid('a node is not deleted here; a pod of that name is pod/NAME');
  if (type !== 'pods' && (all === true || selector !== undefined))
    throw invalid(`--all and --selector take pods alone: name the ${type}`);
  return names.map((text) => ({ kind: kindOf(type), text }));
}

async function objectsOfManifests({
  filename,
  recursive,
  namespace,
}: DeleteFlags): Promise<readonly ToDelete[]> {
  if (filename === undefined) return [];
  const documents = await manifestDocuments({ filename, recursive }, namespace);
  const { nameOf } = await import('./parsed-documents.ts');
  return documents
    .map(nameOf)
    .map(({ kind, namespace: own = 'default', name }) => ({ kind, text: `${own}/${name}` }));
}

function checkChoice(objects: readonly ToDelete[], { all = false, selector }: DeleteFlags): void {
  const ways = [objects.length > 0, all, selector !== undefined].filter(Boolean);
  if (ways.length === 0)
    throw invalid('name the pods that are to be deleted, or give --all, --selector or --filename');
  if (ways.length > 1) throw invalid('names of pods, --all and --selector exclude each other');
}

async function deleteObject(
  daemon: DaemonConnection,
  kind: string,
  { namespace = 'default', name }: PodName,
  { output, ignoreNotFound }: DeleteFlags,
): Promise<string> {
  const path = ['objects', kind, namespace, name].map((part) => `/${encodeURIComponent(part)}`).join('');
  try {
    await daemon.json(path, { method: 'DELETE' });
  } catch (error) {
    if (ignoreNotFound === true && errorKind(error) === 'NotFound') return '';
    throw error;
  }
  const word = kind.toLowerCase();
  return output === 'name' ? `${word}/${name}\n` : `${word} "${name}" deleted from ${namespace} namespace\n`;
}

/** Pods that have been deleted already are left out. */
async function allPods(
  daemon: DaemonConnection,
  { namespace = 'default', selector }: DeleteFlags,
): Promise<readonly Pod[]> {
  const isSelected = labelSelector(selector);
  const pods = await podsOf(daemon);
  return pods.filter(({ metadata }) => {
    const state = metadata.annotations?.[STATE_ANNOTATION];
    return metadata.namespace === namespace && state !== 'Terminated.Finished' && isSelected(metadata.labels);
  });
}

async function namedPods(
  daemon: DaemonConnection,
  names: readonly string[],
  flags: DeleteFlags,
): Promise<readonly Pod[]> {
  const found = await Promise.all(
    names.map((name) =>
      chosenPod(daemon, name, flags).catch((error: unknown) => {
        if (flags.ignoreNotFound === true && errorKind(error) === 'NotFound') return undefined;
        throw error;
      }),
    ),
  );
  return found.filter((pod) => pod !== undefined);
}

async function deletePod(
  daemon: DaemonConnection,
  { metadata: { namespace, name } }: Pod,
  { gracePeriod, now, wait = true }: DeleteFlags,
  timeoutMs: number,
): Promise<string | undefined> {
  const query = new URLSearchParams();
  const seconds = now === true ? 1 : gracePeriod;
  if (seconds !== undefined && seconds >= 0) query.set('gracePeriodSeconds', String(seconds));
  if (wait) query.set('wait', 'true');
  const path = `/pods/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}?${query.toString()}`;
  const signal = timeoutMs > 0 ? AbortSignal.timeout(timeoutMs) : undefined;
  try {
    const { manifest } = await daemon.json<{ readonly manifest?: string }>(path, {
      method: 'DELETE',
      signal,
    });
    return manifest;
  } catch (error) {
    if (signal?.aborted !== true) throw error;
    const message = `timed out waiting for pod ${namespace}/${name} to end; it goes on ending`;
    throw new StateletError('DeadlineExceeded', message);
  }
}

/** `manifest`: where its manifest stays, which apply has not written. */
function lineOf(
  { metadata: { namespace, name } }: Pod,
  manifest: string | undefined,
  { output, wait = true }: DeleteFlags,
): string {
  if (output === 'name') return `pod/${name}\n`;
  const done = wait ? 'deleted' : 'is being deleted';
  const stays = manifest === undefined ? '' : `; it starts again when its manifest changes, in ${manifest}`;
  return `pod "${name}" ${done} from ${namespace} namespace${stays}\n`;
}

/** 0: no limit. */
function timeoutOf(text: string | undefined): number {
  if (text === undefined || text === '0') return 0;
  const timeoutMs = parseDuration(text);
  if (timeoutMs === undefined || timeoutMs < 0)
    throw invalid(`--timeout: "${text}" is no duration such as 30s or 2m`);
  return timeoutMs;
}
