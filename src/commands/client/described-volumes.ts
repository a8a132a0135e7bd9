/** The volumes of a pod, as `kubectl describe` shows them: lines with tabs between their cells. */
import { oneLine } from '../../agent/policies/formats/terminal-text.ts';
import type { PodSpec } from '../../types/kubernetes.ts';

type Volume = NonNullable<PodSpec['volumes']>[number];

export function describedVolumes(volumes: readonly Volume[]): readonly string[] {
  if (volumes.length === 0) return ['Volumes:\t<none>'];
  return [
    'Volumes:',
    ...volumes.flatMap((volume) => [
      `  ${volume.name}:`,
      ...linesOf(volume).map((line) => `    ${oneTabbed(line)}`),
    ]),
  ];
}

/** Only the tab between name and value parts cells. */
function oneTabbed(line: string): string {
  const [label = '', ...value] = line.split('\t');
  return value.length === 0 ? oneLine(label) : `${label}\t${oneLine(value.join(' '))}`;
}

function linesOf(volume: Volume): readonly string[] {
  const {
    hostPath,
    emptyDir,
    secret,
    configMap,
    persistentVolumeClaim: claim,
    downwardAPI,
    projected,
    image,
  } = volume;
  if (hostPath)
    return [
      'Type:\tHostPath (bare host directory volume)',
      `Path:\t${hostPath.path}`,
      `HostPathType:\t${hostPath.type ?? '<none>'}`,
    ];
  if (emptyDir)
    return [
      "Type:\tEmptyDir (a temporary directory that shares a pod's lifetime)",
      `Medium:\t${emptyDir.medium ?? ''}`,
      `SizeLimit:\t${emptyDir.sizeLimit ?? '<unset>'}`,
    ];
  if (secret)
    return [
      'Type:\tSecret (a volume populated by a Secret)',
      `SecretName:\t${secret.secretName ?? ''}`,
      `Optional:\t${secret.optional ?? false}`,
    ];
  if (configMap)
    return [
      'Type:\tConfigMap (a volume populated by a ConfigMap)',
      `Name:\t${configMap.name ?? ''}`,
      `Optional:\t${configMap.optional ?? false}`,
    ];
  if (claim)
    return [
      'Type:\tPersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)',
      `ClaimName:\t${claim.claimName}`,
      `ReadOnly:\t${claim.readOnly ?? false}`,
    ];
  if (downwardAPI)
    return [
      'Type:\tDownwardAPI (a volume populated by information about the pod)',
      'Items:',
      ...(downwardAPI.items ?? []).map(
        ({ path, fieldRef, resourceFieldRef }) =>
          `  ${fieldRef?.fieldPath ?? resourceFieldRef?.resource ?? ''} -> ${path}`,
      ),
    ];
  if (projected)
    return [
      'Type:\tProjected (a volume that contains injected data from multiple sources)',
      ...(projected.sources ?? []).flatMap(partOf),
    ];
  if (image)
    return [
      'Type:\tImage (a container image or OCI artifact)',
      `Reference:\t${image.reference ?? ''}`,
      `PullPolicy:\t${image.pullPolicy ?? ''}`,
    ];
  const [kind = '<unknown>'] = Object.keys(volume).filter((member) => member !== 'name');
  return [`Type:\t${kind}`];
}

type Source = NonNullable<NonNullable<Volume['projected']>['sources']>[number];

function partOf({ secret, configMap, downwardAPI, serviceAccountToken }: Source): readonly string[] {
  if (secret) return [`SecretName:\t${secret.name ?? ''}`, `Optional:\t${secret.optional ?? false}`];
  if (configMap)
    return [`ConfigMapName:\t${configMap.name ?? ''}`, `Optional:\t${configMap.optional ?? false}`];
  if (downwardAPI) return ['DownwardAPI:\ttrue'];
  return serviceAccountToken
    ? [`TokenExpirationSeconds:\t${serviceAccountToken.expirationSeconds ?? 3600}`]
    : [];
}
