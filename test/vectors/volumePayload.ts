import {
  collectDownwardAPI,
  type CollectedFiles,
  collectFiles,
  downwardAPIFiles,
  wholeFiles,
} from '../../src/agent/policies/volumes/downward-api-files.ts';
import {
  configMapFiles,
  credentialFile,
  secretFiles,
} from '../../src/agent/policies/volumes/object-files.ts';
import {
  cleanPath,
  payloadPathProblem,
  type VolumeFile,
} from '../../src/agent/policies/volumes/projected-files.ts';
import {
  filesMode,
  isOptional,
  missingSource,
  type Volume,
  type VolumeProjection,
} from '../../src/agent/policies/volumes/volume-source.ts';
import { errorMessage, StateletError } from '../../src/types/errors.ts';
import type { ConfigMap, Pod, Secret } from '../../src/types/kubernetes.ts';
import { kubeletsText } from '../support/kubelets-text.ts';
import type { VectorAdapter } from '../support/vectors.ts';

type Source<Kind extends keyof VolumeProjection> = NonNullable<VolumeProjection[Kind]>;

interface KeysInput {
  readonly items?: Source<'configMap'>['items'] | null;
  readonly optional: boolean;
  readonly defaultMode?: number;
}
interface ProjectedInput {
  readonly fn: 'projected';
  readonly source: { readonly defaultMode?: number; readonly sources?: readonly VolumeProjection[] };
  readonly pod: Pod;
  readonly configMaps: readonly ConfigMap[];
  readonly secrets: readonly Secret[];
  readonly nodeAllocatable?: Readonly<Record<string, string>>;
  readonly fsUser?: number | null;
  readonly fsGroup?: number | null;
  readonly tokenError?: string;
  readonly trustAnchorsByName?: Readonly<Record<string, string>>;
  readonly trustAnchorsBySigner?: Readonly<Record<string, string>>;
  readonly podCertificateFails?: boolean;
}
type Input =
  | (KeysInput & { readonly fn: 'configMap'; readonly configMap: ConfigMap })
  | (KeysInput & { readonly fn: 'secret'; readonly secret: Secret })
  | {
      readonly fn: 'downwardAPI';
      readonly items?: NonNullable<Source<'downwardAPI'>['items']> | null;
      readonly pod: Pod;
      readonly nodeAllocatable: Readonly<Record<string, string>>;
      readonly defaultMode?: number;
    }
  | ProjectedInput
  | { readonly fn: 'validatePayload'; readonly paths: readonly string[] };

export const adapter: VectorAdapter = {
  adapt(input: Input) {
    switch (input.fn) {
      case 'validatePayload':
        return validated(input.paths);
      case 'projected':
        return projected(input);
      case 'downwardAPI':
        return downwardAPI(input);
      case 'configMap':
        return ofKeys(input, (source, mode) => configMapFiles(input.configMap, source, mode));
      case 'secret':
        return ofKeys(input, (source, mode) => secretFiles(input.secret, source, mode));
    }
  },
  matches: (got, want) => JSON.stringify(sorted(got)) === JSON.stringify(sorted(want)),
};

function validated(paths: readonly string[]) {
  const error = paths.map(payloadPathProblem).find((problem) => problem !== undefined);
  return error === undefined ? { error: null, paths: [...new Set(paths.map(cleanPath))].sort() } : { error };
}

function ofKeys(
  { items, optional, defaultMode }: KeysInput,
  filesOf: (source: Source<'configMap'>, mode: number) => readonly VolumeFile[],
) {
  const source = { ...(items && { items }), optional };
  try {
    const mode = filesMode(volumeOf('configMap', defaultMode));
    return { error: null, payload: payloadOf(filesOf(source, mode)) };
  } catch (error) {
    return { error: errorMessage(error) };
  }
}

function downwardAPI({ pod, items, defaultMode, nodeAllocatable }: Extract<Input, { fn: 'downwardAPI' }>) {
  return answer(() => {
    const mode = filesMode(volumeOf('downwardAPI', defaultMode));
    return collectDownwardAPI(pod, items ?? [], mode, nodeAllocatable);
  });
}

function volumeOf(kind: 'configMap' | 'downwardAPI' | 'projected', defaultMode: number | undefined): Volume {
  return { name: 'vol', [kind]: { ...(defaultMode !== undefined && { defaultMode }) } };
}

function projected(input: ProjectedInput) {
  return answer(() => {
    const mode = filesMode(volumeOf('projected', input.source.defaultMode));
    const sources = input.source.sources ?? [];
    return collectFiles(sources.map((source) => outcomeOf(() => filesOf(source, input, mode))));
  });
}

function outcomeOf<T>(run: () => T): PromiseSettledResult<T> {
  try {
    return { status: 'fulfilled', value: run() };
  } catch (reason) {
    return { status: 'rejected', reason };
  }
}

/** As the agent reads a source, with objects that are at hand. */
function filesOf(source: VolumeProjection, input: ProjectedInput, mode: number): readonly VolumeFile[] {
  const { pod, nodeAllocatable = {} } = input;
  if (source.downwardAPI) return downwardAPIFiles(pod, source.downwardAPI.items ?? [], mode, nodeAllocatable);
  const files =
    objectFiles(source, input, mode) ??
    tokenFiles(source, input, mode) ??
    bundleFiles(source, input, mode) ??
    certificateFiles(source, input, mode);
  if (files) return files;
  if (!isOptional(source)) throw missingSource(source);
  const { clusterTrustBundle: bundle } = source;
  return bundle ? [credentialFile(bundle.path, '', readersOf(input), mode)] : [];
}

function objectFiles({ configMap, secret }: VolumeProjection, input: ProjectedInput, mode: number) {
  const named = <T extends ConfigMap | Secret>(objects: readonly T[], name = '') =>
    objects.find(
      ({ metadata }) => metadata?.name === name && metadata.namespace === input.pod.metadata.namespace,
    );
  if (configMap) {
    const object = named(input.configMaps, configMap.name);
    return object && configMapFiles(object, configMap, mode);
  }
  if (!secret) return undefined;
  const object = named(input.secrets, secret.name);
  return object && secretFiles(object, secret, mode);
}

function tokenFiles({ serviceAccountToken: source }: VolumeProjection, input: ProjectedInput, mode: number) {
  if (!source) return undefined;
  if (input.tokenError !== undefined) throw new StateletError('NotFound', input.tokenError);
  const { metadata, spec } = input.pod;
  const asked = `[${source.audience ?? ''}]|${source.expirationSeconds ?? '-'}`;
  // In some cases the pod has no name.
  const { name = '' } = metadata as { readonly name?: string };
  const token = `${metadata.namespace}/${spec.serviceAccountName ?? ''}|${asked}|v1/Pod ${name}/${metadata.uid}`;
  return [credentialFile(source.path, token, readersOf(input), mode)];
}

function bundleFiles({ clusterTrustBundle: source }: VolumeProjection, input: ProjectedInput, mode: number) {
  if (!source) return undefined;
  const { name, signerName, path } = source;
  const pem =
    name === undefined ? input.trustAnchorsBySigner?.[signerName ?? ''] : input.trustAnchorsByName?.[name];
  return pem === undefined ? undefined : [credentialFile(path, pem, readersOf(input), mode)];
}

function certificateFiles({ podCertificate: source }: VolumeProjection, input: ProjectedInput, mode: number) {
  if (!source) return undefined;
  if (input.podCertificateFails === true) throw new StateletError('Unavailable', 'pod certificate not ready');
  const { metadata } = input.pod as { readonly metadata: Partial<Pod['metadata']> };
  const index = input.source.sources?.findIndex(({ podCertificate }) => podCertificate === source);
  const key = `KEY(${metadata.namespace ?? ''},${metadata.name ?? ''},${metadata.uid ?? ''},vol,${index})\n`;
  const chain = 'CERTS\n';
  const contents: readonly (readonly [string | undefined, string])[] = [
    [source.credentialBundlePath, key + chain],
    [source.keyPath, key],
    [source.certificateChainPath, chain],
  ];
  return contents.flatMap(([path, content]) =>
    path ? [credentialFile(path, content, readersOf(input), mode)] : [],
  );
}

function readersOf({ fsUser, fsGroup }: ProjectedInput) {
  return { ...(fsUser != null && { user: fsUser }), ...(fsGroup != null && { fsGroup }) };
}

function answer(collect: () => CollectedFiles) {
  let payload = {};
  try {
    const collected = collect();
    payload = payloadOf(collected.files);
    wholeFiles(collected);
    return { error: null, payload };
  } catch (error) {
    return { error: kubeletsText(errorMessage(error)), payload };
  }
}

function payloadOf(files: readonly VolumeFile[]): object {
  const entries = files.map(({ path, content, mode, owner }) => {
    const data = Buffer.from(content).toString('base64');
    return [path, { data, mode, ...(owner !== undefined && { fsUser: owner }) }] as const;
  });
  return Object.fromEntries(entries);
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, sorted(member)]),
  );
}
