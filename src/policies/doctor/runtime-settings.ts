/** What a runtime says of its own settings: containerd in its answer to a verbose Status, or in its configuration file. */
import type { CgroupDriverName } from '../cgroups/cgroup-names.ts';
import { cgroupDriverIn, RUNC } from '../cri/cgroup-driver-mismatch.ts';
import { memberAt, parsedObject, textAt } from './json-members.ts';

/** What is undefined, the runtime does not say. */
export interface RuntimeSettings {
  readonly driver?: CgroupDriverName | undefined;
  readonly sandboxImage?: string | undefined;
  readonly confDir?: string | undefined;
  readonly binDirs?: readonly string[] | undefined;
  readonly selinux?: boolean | undefined;
}

/** From `info` of CRI's answer to a verbose Status: containerd has its CRI configuration there, as JSON. */
export function settingsOfStatus(info: Readonly<Record<string, string>>): RuntimeSettings {
  const text = textAt(info, 'config') ?? '';
  const config = parsedObject(text);
  if (typeof config === 'string') return {};
  const selinux = memberAt(config, 'enableSelinux');
  return {
    driver: cgroupDriverIn(text),
    sandboxImage: textAt(config, 'sandboxImage') ?? textAt(config, 'pinnedImages', 'sandbox'),
    confDir: textAt(config, 'cni', 'confDir'),
    binDirs: binDirsOf(memberAt(config, 'cni', 'binDirs') ?? memberAt(config, 'cni', 'binDir')),
    selinux: typeof selinux === 'boolean' ? selinux : undefined,
  };
}

const V2 = 'io.containerd.grpc.v1.cri';
const V3_RUNTIME = 'io.containerd.cri.v1.runtime';
const V3_IMAGES = 'io.containerd.cri.v1.images';

/** From the members of containerd's configuration file, of version 2 or 3. */
export function settingsOfFile(file: unknown): RuntimeSettings {
  const isNew = memberAt(file, 'plugins', V3_RUNTIME) !== undefined;
  const cri = memberAt(file, 'plugins', isNew ? V3_RUNTIME : V2);
  const handler = textAt(cri, 'containerd', 'default_runtime_name') ?? 'runc';
  const runtime = memberAt(cri, 'containerd', 'runtimes', handler);
  const isRunc = (textAt(runtime, 'runtime_type') ?? RUNC) === RUNC;
  const isSystemd = memberAt(runtime, 'options', 'SystemdCgroup') === true;
  const selinux = memberAt(cri, 'enable_selinux');
  return {
    driver: isRunc ? (isSystemd ? 'systemd' : 'cgroupfs') : undefined,
    sandboxImage:
      textAt(cri, 'sandbox_image') ?? textAt(file, 'plugins', V3_IMAGES, 'pinned_images', 'sandbox'),
    confDir: textAt(cri, 'cni', 'conf_dir'),
    binDirs: binDirsOf(memberAt(cri, 'cni', 'bin_dirs') ?? memberAt(cri, 'cni', 'bin_dir')),
    selinux: typeof selinux === 'boolean' ? selinux : undefined,
  };
}

function binDirsOf(value: unknown): readonly string[] | undefined {
  const dirs = [value].flat().filter((dir) => typeof dir === 'string' && dir !== '') as string[];
  return dirs.length === 0 ? undefined : dirs;
}
