import { type EnvObjects, envObjectNames } from '../../policies/cri/env-objects.ts';
import type { ApiObjects } from '../../types/api-objects.ts';
import type { Container, EphemeralContainer, Pod } from '../../types/kubernetes.ts';

/** Reads the objects that the container's variables refer to. */
export async function readEnvObjects(
  objects: ApiObjects,
  { metadata: { namespace } }: Pod,
  container: Container | EphemeralContainer,
): Promise<EnvObjects> {
  const names = envObjectNames(container);
  const [configMaps, secrets] = await Promise.all([
    Promise.all(
      Array.from(names.configMaps, async (name) => [name, await objects.configMap(namespace, name)] as const),
    ),
    Promise.all(
      Array.from(names.secrets, async (name) => [name, await objects.secret(namespace, name)] as const),
    ),
  ]);
  return { configMaps: new Map(configMaps), secrets: new Map(secrets) };
}
