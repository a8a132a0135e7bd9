/** Merges the answers of device plugins for a container. */
import type { ContainerAdditions } from '../cri/container-config.ts';

export interface PluginMount {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly readOnly: boolean;
}

export interface DeviceSpec {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly permissions: string;
}

/** The answer of a plugin for one container. */
export interface AllocatedContainer {
  readonly envs: Readonly<Record<string, string>>;
  readonly mounts: readonly PluginMount[];
  readonly devices: readonly DeviceSpec[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly cdiDevices: readonly { readonly name: string }[];
}

/** Where two answers name the same variable, path, annotation or device, the first one counts, as with the kubelet. */
export function containerDevices(answers: readonly AllocatedContainer[]): ContainerAdditions {
  const envs = firstOf(answers, ({ envs }) => Object.entries(envs));
  const annotations = firstOf(answers, ({ annotations }) => Object.entries(annotations));
  const mounts = firstOf(answers, (answer) => answer.mounts.map((mount) => [mount.containerPath, mount]));
  const devices = firstOf(answers, (answer) =>
    answer.devices.map((device) => [device.containerPath, device]),
  );
  const names = new Set(answers.flatMap(({ cdiDevices }) => cdiDevices.map(({ name }) => name)));
  return {
    envs: Array.from(envs, ([key, value]) => ({ key, value })),
    annotations: Object.fromEntries(annotations),
    mounts: Array.from(mounts.values(), ({ containerPath, hostPath, readOnly }) => ({
      containerPath,
      hostPath,
      readonly: readOnly,
      propagation: 'PROPAGATION_PRIVATE' as const,
    })),
    devices: [...devices.values()],
    cdiDevices: Array.from(names, (name) => ({ name })),
  };
}

function firstOf<T>(
  answers: readonly AllocatedContainer[],
  entriesOf: (answer: AllocatedContainer) => readonly (readonly [string, T])[],
): ReadonlyMap<string, T> {
  const first = new Map<string, T>();
  for (const [key, value] of answers.flatMap(entriesOf)) if (!first.has(key)) first.set(key, value);
  return first;
}
