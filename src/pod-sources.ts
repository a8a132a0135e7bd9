/** The sources of pods that a configuration names. */
import { join } from 'node:path';
import type { StateletConfig } from './config/config.ts';
import { fileSource } from './sources/file-source.ts';
import { httpSource } from './sources/http-source.ts';
import { LastGoodManifests } from './sources/manifests/last-good-manifests.ts';
import type { PodSources } from './sources/pod-config.ts';

export interface PodSourcesOptions {
  /** Whether the last good manifests are kept in the root folder, for a source that is broken at the next start. */
  readonly keepsLastGood?: boolean;
}

export function podSources(
  config: StateletConfig,
  { keepsLastGood = false }: PodSourcesOptions = {},
): PodSources {
  const { staticPodPath: path, staticPodURL: url, staticPodURLHeader: headers, nodeName } = config;
  const { fileCheckFrequencyMs, httpCheckFrequencyMs, rootDir } = config;
  const lastGoodOf = (source: string) => new LastGoodManifests(join(rootDir, 'manifests', source));
  const kept = (source: string) => keepsLastGood && { lastGood: lastGoodOf(source) };
  // Manifests of a source that is no longer configured are removed: they may contain secrets.
  if (keepsLastGood && path === undefined) lastGoodOf('file').keepOnly(new Set());
  if (keepsLastGood && url === undefined) lastGoodOf('http').keepOnly(new Set());
  return {
    ...(path !== undefined && {
      file: fileSource({ path, nodeName, checkFrequencyMs: fileCheckFrequencyMs, ...kept('file') }),
    }),
    ...(url !== undefined && {
      http: httpSource({ url, headers, nodeName, checkFrequencyMs: httpCheckFrequencyMs, ...kept('http') }),
    }),
  };
}
