/** Programs of Kubernetes that tests, benches and comparisons run beside Statelet, where the machine has them. */
import { existsSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

/** The folder of a control plane's programs: `$KUBEBUILDER_ASSETS`, or the one in the user's cache. Undefined if there is none. */
export function kubernetesAssets(): string | undefined {
  const given = process.env.KUBEBUILDER_ASSETS ?? '';
  if (given !== '') return given;
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
  const cached = join(cache, 'kubebuilder-assets');
  return statSync(cached, { throwIfNoEntry: false })?.isDirectory() ? cached : undefined;
}

/** The path of one of these programs: in that folder, or else in the PATH. */
export function kubernetesProgram(name: string): string {
  const own = join(kubernetesAssets() ?? '', name);
  return isFile(own) ? own : (onPath(name) ?? own);
}

/** `double`: the API server of this project's tests, which runs on any machine. `real`: the programs of Kubernetes. */
export type ProgramsKind = 'double' | 'real';

/** On which control plane suites run: `$CONTROL_PLANE`, or else the double. */
export function controlPlaneKind(): ProgramsKind {
  const kind = process.env.CONTROL_PLANE ?? '';
  if (kind === '' || kind === 'double') return 'double';
  if (kind === 'real') return 'real';
  throw new Error(`CONTROL_PLANE=${kind}: must be double or real`);
}

/** The kubectl of the machine; beside real programs, the one that came with them. `$KUBECTL` names another. */
export function kubectlProgram(kind: ProgramsKind = controlPlaneKind()): string {
  const named = process.env.KUBECTL ?? '';
  if (named !== '') return named;
  return (kind === 'real' ? undefined : onPath('kubectl')) ?? kubernetesProgram('kubectl');
}

/** The programs that every real control plane needs. */
const NEEDED = ['etcd', 'kube-apiserver', 'kubectl'];

/** Why no real control plane can run here; undefined if it can. */
export function noControlPlaneBecause(): string | undefined {
  const missing = NEEDED.filter((name) => !existsSync(kubernetesProgram(name)));
  const assets = kubernetesAssets();
  if (missing.length > 0 && assets === undefined) return 'KUBEBUILDER_ASSETS is not set';
  if (missing.length > 0) return `${assets ?? ''} does not have ${missing.join(', ')}`;
  return process.geteuid?.() === 0 ? undefined : 'this is not root';
}

/** The message if there is no kubelet. */
export const NO_KUBELET =
  'no kubelet: set KUBELET to the path of one, or KUBEBUILDER_ASSETS to a folder that has one';

/** The path of a kubelet: `$KUBELET`, or that of the folder above. Undefined if there is none. Throws if `$KUBELET` is no file. */
export function findKubelet(): string | undefined {
  const given = process.env.KUBELET ?? '';
  if (isFile(given)) return given;
  if (given !== '') throw new Error(`KUBELET must be the path of a kubelet; there is no file ${given}`);
  const found = join(kubernetesAssets() ?? '', 'kubelet');
  return isFile(found) ? found : undefined;
}

export const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

export function onPath(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.map((folder) => join(folder, name)).find(isFile);
}
