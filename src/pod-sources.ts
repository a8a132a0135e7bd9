/** The sources of pods that a configuration names. */
import type { StateletConfig } from './config/config.ts';
import { fileSource } from './sources/file-source.ts';
import { httpSource } from './sources/http-source.ts';
import type { PodSources } from './sources/pod-config.ts';

export function podSources(config: StateletConfig): PodSources {
  const { staticPodPath: path, staticPodURL: url, staticPodURLHeader: headers, nodeName } = config;
  const { fileCheckFrequencyMs, httpCheckFrequencyMs } = config;
  return {
    ...(path !== undefined && {
      file: fileSource({ path, nodeName, checkFrequencyMs: fileCheckFrequencyMs }),
    }),
    ...(url !== undefined && {
      http: httpSource({ url, headers, nodeName, checkFrequencyMs: httpCheckFrequencyMs }),
    }),
  };
}
