/** The sources of pods that a configuration names. */
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { map, type Observable } from 'rxjs';
import type { LocalPods, StateletConfig } from '../agent/config/config.ts';
import { shownURL } from '../agent/policies/formats/secret-fields.ts';
import { fileSource } from '../agent/sources/file-source.ts';
import { httpSource, withoutUser } from '../agent/sources/http-source.ts';
import { localSource } from '../agent/sources/local-source.ts';
import type { LocalObjects } from '../agent/sources/objects/local-objects.ts';
import { LastGoodManifests } from '../agent/sources/manifests/last-good-manifests.ts';
import type { PodSources } from '../agent/sources/pod-config.ts';
import type { SourceUpdate } from '../agent/sources/source.ts';
import { removeTree } from '../system/files/remove-tree.ts';
import type { AgentContext } from '../types/agent-context.ts';

export interface PodSourcesOptions {
  /** Whether the last good manifests are kept in the root folder, for a source that is broken at the next start. */
  readonly keepsLastGood?: boolean;
  /** Gets the objects of manifests, before their pods are passed on. */
  readonly objects?: LocalObjects | undefined;
}

/** What ordinary pods of manifests may refer to. Undefined where none are configured: in a cluster, the API server has the objects. */
export async function openLocalObjects(
  context: Pick<AgentContext, 'clock' | 'logger'>,
  { localPods, rootDir }: StateletConfig,
): Promise<LocalObjects | undefined> {
  if (localPods.length === 0) return undefined;
  const [objects, folders, { recordedVolumes }] = await Promise.all([
    import('../agent/sources/objects/local-objects.ts'),
    import('../agent/sources/objects/claim-folders.ts'),
    import('../agent/runtime/volumes/claimed-volumes.ts'),
  ]);
  const claims = new folders.ClaimFolders(context, {
    folder: join(rootDir, 'claims'),
    usedOnDisk: () => recordedVolumes(rootDir),
  });
  return new objects.LocalObjects(context, claims);
}

export function podSources(
  config: StateletConfig,
  { keepsLastGood = false, objects }: PodSourcesOptions = {},
): PodSources {
  const { staticPodPath: path, staticPodURL: url, staticPodURLHeader: headers, nodeName, localPods } = config;
  const { fileCheckFrequencyMs, httpCheckFrequencyMs, rootDir } = config;
  const folder = join(rootDir, 'manifests');
  const kept = (source: string) => keepsLastGood && { lastGood: new LastGoodManifests(join(folder, source)) };
  const ofFiles = { nodeName, checkFrequencyMs: fileCheckFrequencyMs };
  const ofURLs = { nodeName, checkFrequencyMs: httpCheckFrequencyMs };
  const local = (pods: LocalPods): Observable<SourceUpdate> =>
    'url' in pods
      ? httpSource({ ...ofURLs, ...pods, source: 'local', ...kept(folderOf(pods)) })
      : fileSource({ ...ofFiles, ...pods, source: 'local', ...kept(folderOf(pods)) });
  if (keepsLastGood) {
    const ofStatic = [path !== undefined && 'file', url !== undefined && 'http'].filter(
      (name) => name !== false,
    );
    void removeOthers(folder, [...ofStatic, ...localPods.map(folderOf)]);
  }
  return {
    ...(path !== undefined && { file: fileSource({ ...ofFiles, path, ...kept('file') }) }),
    ...(url !== undefined && { http: httpSource({ ...ofURLs, url, headers, ...kept('http') }) }),
    ...(localPods.length > 0 && {
      local: localSource(localPods.map((pods) => ({ place: placeOf(pods), updates: local(pods) }))).pipe(
        map((update) => objects?.take(update) ?? update),
      ),
    }),
  };
}

/** For a log: without what may be secret in a URL. */
export function placeOf(pods: LocalPods): string {
  return 'url' in pods ? shownURL(pods.url) : pods.path;
}

/** One for each file, folder or URL: they do not know of each other's manifests. */
function folderOf(pods: LocalPods): string {
  const location = 'url' in pods ? withoutUser(pods.url) : pods.path;
  return `local-${createHash('sha256').update(location).digest('hex').slice(0, 16)}`;
}

/** Manifests of a source that is no longer configured are removed: they may contain secrets. */
async function removeOthers(folder: string, wanted: readonly string[]): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  const others = names.filter((name) => !wanted.includes(name));
  await Promise.all(others.map((name) => removeTree(join(folder, name)).catch(() => undefined)));
}
