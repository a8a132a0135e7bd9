import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from '@jest/globals';
import { mountsBelow, parseMountInfo } from '../../../../src/agent/policies/formats/mountinfo.ts';
import { kindOfFiles } from '../../../../src/agent/policies/volumes/volume-source.ts';
import type {
  ContainerMountsRequest,
  HostsMountRequest,
  TerminationMountRequest,
} from '../../../../src/agent/runtime/volumes/container-mounts.ts';
import {
  VolumeManager,
  type VolumeManagerParts,
} from '../../../../src/agent/runtime/volumes/volume-manager.ts';
import type { Mount } from '../../../../src/types/cri.ts';
import type { Container, Pod, PodSpec } from '../../../../src/types/kubernetes.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { testContext, recorderOf } from '../../../support/test-context.ts';
import { silentLogger } from '../../../support/silent-logger.ts';

const isRoot = process.getuid?.() === 0;

/** A suite that mounts file systems or changes the owner of files. Without root it is skipped, and stderr says so. */
export function describeAsRoot(name: string, suite: () => void): void {
  if (!isRoot) process.stderr.write(`\nSKIPPED, NOTHING PROVED: "${name}" mounts, and this is not root.\n`);
  (isRoot ? describe : describe.skip)(name, suite);
}

export type Volume = NonNullable<PodSpec['volumes']>[number];
type MountOfContainer = NonNullable<Container['volumeMounts']>[number];

export function run(command: string, ...args: readonly string[]): void {
  execFileSync(command, args);
}

/** The mode in the octal form of chmod. */
export const modeOf = (path: string) => (statSync(path).mode & 0o7777).toString(8);

const SIGNAL = new AbortController().signal;
export const POD_IP = '10.1.0.5';

/** A volume manager on a folder of its own, with short forms of calls that many tests make. */
export class VolumeBed {
  /** The folder's path as the kernel shows it. */
  readonly dir = realpathSync(mkdtempSync(join(tmpdir(), 'statelet volumes-')));
  readonly rootDir = join(this.dir, 'root');
  readonly clock = new VirtualClock();
  readonly warnings: string[] = [];
  /** `FailedMount: …` */
  readonly events: string[] = [];
  readonly #parts: Partial<VolumeManagerParts>;
  manager: VolumeManager;

  constructor(parts: Partial<VolumeManagerParts> = {}) {
    this.#parts = parts;
    this.manager = this.newManager();
  }

  /** A new manager on the same folder, as after a restart of the agent. */
  newManager(): VolumeManager {
    const context = testContext({
      clock: this.clock,
      recorder: recorderOf({
        event: (_pod, _type, reason, message) => void this.events.push(`${reason}: ${message}`),
      }),
      logger: { ...silentLogger, warn: (_, message) => void this.warnings.push(message) },
    });
    this.manager = new VolumeManager(context, {
      rootDir: this.rootDir,
      allocatable: { memory: '1Gi', cpu: '2' },
      clusterDomain: 'cluster.local',
      ...this.#parts,
    });
    return this.manager;
  }

  remove(): void {
    const mounts = this.mounts(this.dir);
    if (mounts.length > 0) run('umount', '--no-canonicalize', ...mounts);
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** The mount points at the folder and below it. */
  mounts(folder = this.rootDir): readonly string[] {
    return mountsBelow(parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8')), folder);
  }

  unmount(folder: string): void {
    run('umount', '--no-canonicalize', folder);
  }

  podDir(uid = 'u-1'): string {
    return join(this.rootDir, 'pods', uid);
  }

  async mount(pod: Pod, signal: AbortSignal = SIGNAL): Promise<void> {
    await this.manager.mountPod(pod, signal);
  }

  /** The volume mounts of the pod's first container. */
  async volumeMounts(pod: Pod, request: Partial<ContainerMountsRequest> = {}): Promise<readonly Mount[]> {
    const mounts = await this.containerMounts(pod, request);
    return mounts.filter(({ containerPath }) => containerPath.startsWith('/data'));
  }

  async terminationMount(
    pod: Pod,
    request: Partial<TerminationMountRequest> = {},
  ): Promise<readonly Mount[]> {
    const [container = { name: '' }] = pod.spec.containers;
    return this.manager.mounts.termination({ pod, container, attempt: 0, ...request });
  }

  /** The mounts of the volumes, and that of `/etc/hosts`. */
  async containerMounts(
    pod: Pod,
    request: Partial<ContainerMountsRequest & HostsMountRequest> = {},
  ): Promise<readonly Mount[]> {
    const [container = { name: '' }] = pod.spec.containers;
    const all = { pod, container, env: new Map(), podIPs: [POD_IP], hostname: 'web', ...request };
    return [...(await this.manager.mounts.of(all)), ...(await this.manager.mounts.hosts(all))];
  }
}

/** A pod whose container mounts the volumes at `/data0`, `/data1`, … */
export function podWith(
  volumes: readonly Omit<Volume, 'name'>[],
  spec: Partial<PodSpec> = {},
  mount: Partial<MountOfContainer> = {},
): Pod {
  const named = volumes.map((volume, i) => withMode({ name: `v${i}`, ...volume }));
  const volumeMounts = named.map(({ name }, i) => ({ name, mountPath: `/data${i}`, ...mount }));
  return {
    metadata: { name: 'web', namespace: 'shop', uid: 'u-1', labels: { app: 'web' } },
    spec: { volumes: named, containers: [{ name: 'main', volumeMounts }], ...spec },
  };
}

/** As the API server gives it to every volume of files that says none. */
function withMode(volume: Volume): Volume {
  const kind = kindOfFiles(volume);
  return kind === undefined ? volume : { ...volume, [kind]: { defaultMode: 0o644, ...volume[kind] } };
}
