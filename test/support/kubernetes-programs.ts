/** Programs of Kubernetes that tests, benches and comparisons run beside Statelet, where the machine has them. */
import { statSync } from 'node:fs';
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
