import type { EnvFacts } from '../../policies/cri/container-env.ts';
import { envObjectNames } from '../../policies/cri/env-objects.ts';
import { promiseOf } from '../../../system/promises.ts';
import type { ApiObjects } from '../../../types/api-objects.ts';
import type { Container, EphemeralContainer, Pod } from '../../../types/kubernetes.ts';
import type { PodSubsystem } from '../node/pod-node.ts';

/** The objects of the API server that a pod refers to are followed from its first sync on, until nothing of it needs them any more. */
export function objectSubsystem(objects: ApiObjects | undefined): PodSubsystem {
  return {
    name: 'objects',
    prepare: (pod) => promiseOf(() => objects?.registerPod(pod)),
    release: (uid) => promiseOf(() => objects?.forgetPod(uid)),
  };
}

type ServerFacts = Pick<EnvFacts, 'objects' | 'services'>;

const NO_OBJECTS = { configMaps: new Map(), secrets: new Map() };

/** What the container's variables need of the API server: objects that they refer to, and services. Nothing where there is no server. */
export async function readServerFacts(
  server: ApiObjects | undefined,
  { metadata: { namespace } }: Pod,
  container: Container | EphemeralContainer,
): Promise<ServerFacts> {
  if (server === undefined) return {};
  const services = server.services();
  // The container has to wait for the services anyway.
  if (!services.listed) return { services, objects: NO_OBJECTS };
  const names = envObjectNames(container);
  const [configMaps, secrets] = await Promise.all([
    Promise.all(
      Array.from(names.configMaps, async (name) => [name, await server.configMap(namespace, name)] as const),
    ),
    Promise.all(
      Array.from(names.secrets, async (name) => [name, await server.secret(namespace, name)] as const),
    ),
  ]);
  return { services, objects: { configMaps: new Map(configMaps), secrets: new Map(secrets) } };
}
