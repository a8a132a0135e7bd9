/** Programs of Kubernetes that tests, benches and comparisons run beside Statelet, where the machine has them. */
import { existsSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The folder of a control plane's programs: `$KUBEBUILDER_ASSETS`, or the one in the user's cache. Undefined if there is none. */
export function kubernetesAssets(): string | undefined {
  const given = process.env.KUBEBUILDER_ASSETS ?? '';
  if (given !== '') return given;
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
  const cached = join(cache, 'kubebuilder-assets');
  return statSync(cached, { throwIfNoEntry: false })?.isDirectory() ? cached : undefined;
}

/** The path of one of these programs. */
export const kubernetesProgram = (name: string): string => join(kubernetesAssets() ?? '', name);

/** What every control plane needs. */
const NEEDED = ['etcd', 'kube-apiserver', 'kubectl'];

/** Why no control plane can run here; undefined if it can. */
export function noControlPlaneBecause(): string | undefined {
  const assets = kubernetesAssets();
  if (assets === undefined) return 'KUBEBUILDER_ASSETS is not set';
  const missing = NEEDED.filter((name) => !existsSync(join(assets, name)));
  if (missing.length > 0) return `${assets} does not have ${missing.join(', ')}`;
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

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;
