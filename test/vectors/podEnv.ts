import {
  containerEnv,
  type EnvFile,
  envFileKey,
  envFileRefs,
  type FileKeyRef,
} from '../../src/agent/policies/cri/container-env.ts';
import { hostIPsOf } from '../../src/agent/policies/node/reported-addresses.ts';
import { podAddresses } from '../../src/agent/policies/status/pod-status.ts';
import { cleanPath } from '../../src/agent/policies/volumes/projected-files.ts';
import { errorMessage, StateletError } from '../../src/types/errors.ts';
import type { ConfigMap, Node, Pod, Secret, Service } from '../../src/types/kubernetes.ts';
import { kubeletsText } from '../support/kubelets-text.ts';
import { runtimePodStatus } from '../support/runtime-pod-status.ts';
import type { VectorAdapter } from '../support/vectors.ts';

type Files = Readonly<Record<string, string>>;

interface Input {
  readonly pod: Pod;
  readonly container: string;
  readonly services?: readonly Service[] | null;
  readonly servicesSynced?: boolean;
  readonly configMaps: readonly ConfigMap[];
  readonly secrets: readonly Secret[];
  readonly node: Node | null;
  readonly nodeIPs: readonly string[];
  readonly podIPs: readonly string[] | null;
  readonly volumes?: Readonly<Record<string, Files>>;
}

export const adapter: VectorAdapter = {
  adapt(input: Input) {
    const { pod, container: name, configMaps, secrets, servicesSynced = true } = input;
    const container = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].find(
      (candidate) => candidate.name === name,
    )!;
    const hostIPs = hostIPsOf(input.node?.status?.addresses ?? []);
    try {
      const env = containerEnv(pod, container, {
        podIPs: podIPsOf(input),
        hostIPs,
        allocatable: input.node?.status?.allocatable ?? {},
        objects: { configMaps: byName(configMaps, pod), secrets: byName(secrets, pod) },
        services: { listed: servicesSynced, services: storedServices(input.services ?? []) },
        envFiles: new Map(
          envFileRefs(container).map((ref) => [envFileKey(ref), envFile(ref, input.volumes ?? {})]),
        ),
      });
      return { error: null, env: Object.fromEntries(env.map(({ key, value }) => [key, value])) };
    } catch (error) {
      // The kubelet tells of the first alone of what is missing.
      const [first = ''] = errorMessage(error).split('; ');
      return { error: kubeletsText(first) };
    }
  },
};

/** In the order that they have in the pod's status. */
function podIPsOf({ pod, podIPs, nodeIPs: [primary = '0.0.0.0'] }: Input): readonly string[] {
  const podStatus = runtimePodStatus({ sandboxes: [{ id: 's', ready: true, ips: podIPs ?? [] }] });
  return (podAddresses(pod, podStatus, undefined, [primary]).podIPs ?? []).map(({ ip }) => ip);
}

function byName<T extends ConfigMap | Secret>(objects: readonly T[], { metadata }: Pod): Map<string, T> {
  const own = objects.filter((object) => object.metadata?.namespace === metadata.namespace);
  return new Map(own.map((object) => [object.metadata?.name ?? '', object]));
}

/** As in the store of a watch, the last one of a name is kept. */
function storedServices(services: readonly Service[]): readonly Service[] {
  const byFullName = services.map(
    (service) => [`${service.metadata?.namespace}/${service.metadata?.name}`, service] as const,
  );
  return [...new Map(byFullName).values()];
}

/** As the kubelet opens files: what leads out of the volume begins at its root. */
function insideVolume(path: string): string {
  return cleanPath(`/${path}`).slice(1);
}

function envFile({ volumeName, path }: FileKeyRef, volumes: Readonly<Record<string, Files>>): EnvFile {
  const files = volumes[volumeName];
  if (!files) {
    const message = `cannot find the volume "${volumeName}" referenced by FileKeyRef`;
    return { problem: new StateletError('NotFound', message) };
  }
  const text = files[insideVolume(path)];
  if (text === undefined) return { problem: new StateletError('InvalidArgument', "couldn't parse env file") };
  return { path: `/VOL/${volumeName}/${insideVolume(path)}`, text };
}
