/** The credentials in the Secrets that a pod names in `imagePullSecrets`. */
import type { Secret } from '../../types/kubernetes.ts';
import { type DockerConfig, type DockerConfigFormat, readDockerConfig } from './image-credentials.ts';

/** The key of each type of Secret that has credentials for registries. */
const TYPES: Readonly<Record<string, { readonly key: string; readonly format: DockerConfigFormat }>> = {
  'kubernetes.io/dockerconfigjson': { key: '.dockerconfigjson', format: 'config.json' },
  'kubernetes.io/dockercfg': { key: '.dockercfg', format: '.dockercfg' },
};

const HELPERS = ['credsStore', 'credHelpers'];
const NONE: DockerConfig = { credentials: [], problems: [] };

/** As with the kubelet, a Secret of another type has none. `problems` hold nothing of the content. */
export function readPullSecret({ type, data }: Secret): DockerConfig {
  const known = TYPES[type ?? ''];
  const value = known && data?.[known.key];
  if (known === undefined || value === undefined || value === '') return NONE;
  let content: unknown;
  try {
    const bytes = Uint8Array.from(atob(value), (byte) => byte.charCodeAt(0));
    content = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    // The parser's message quotes the content.
    return { credentials: [], problems: [`${known.key}: is not valid JSON`] };
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    return { credentials: [], problems: [`${known.key}: must be an object`] };
  }
  const config = readCredentials(content, known.format);
  return { ...config, problems: config.problems.map((problem) => `${known.key}: ${problem}`) };
}

/** Secrets are often made from a file of docker that also names helpers. These are told only where there are no credentials beside them. */
function readCredentials(content: object, format: DockerConfigFormat): DockerConfig {
  const bare = Object.entries(content).filter(([field]) => !HELPERS.includes(field));
  const config = readDockerConfig(Object.fromEntries(bare), format);
  return config?.credentials.length ? config : (readDockerConfig(content, format) ?? NONE);
}

/** The names of the Secrets. Empty ones, which the API server lets pass, are left out. */
export function pullSecretNames(refs: readonly { readonly name?: string }[] | undefined): readonly string[] {
  return (refs ?? []).flatMap(({ name }) => (name === undefined || name === '' ? [] : [name]));
}

/** The kubelet's event about Secrets that are missing. */
export function missingSecretsMessage(names: readonly string[]): string {
  return `Unable to retrieve some image pull secrets (${names.join(', ')}); attempting to pull the image may not succeed.`;
}

/** Of a Secret whose content is no good. The kubelet does not pull at all then, and shows only an error of its parser. */
export function badSecretMessage(name: string, problems: readonly string[]): string {
  return `Unable to use image pull secret ${name}: ${problems.join('; ')}; attempting to pull the image may not succeed.`;
}
