/** containerd and the agent in a program that is the first one of a machine; see user-mode-linux.ts. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { json, text } from 'node:stream/consumers';
import { join } from 'node:path';
import type { CgroupDriverName } from '../../src/agent/policies/cgroups/cgroup-names.ts';
import { withControlSocket } from '../../src/agent/server/control-socket.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import { criHasImage, criServes } from './containerd/cri-probe.ts';
import { archive, BUSYBOX, PAUSE, standardImages } from './containerd/images.ts';
import { report } from './kernel-report.ts';
import { waitFor } from './wait-for.ts';

const [, , REPOSITORY = ''] = process.argv;
const STATE = '/run/containerd';
const SOCKET = join(STATE, 'containerd.sock');
const ENDPOINT = `unix://${SOCKET}`;
const DISABLED = ['aufs', 'btrfs', 'devmapper', 'zfs'].map(
  (name) => `"io.containerd.snapshotter.v1.${name}"`,
);
/** Pods are on the node's network: no plugin is run. */
const CNI = { cniVersion: '0.4.0', name: 'none', plugins: [{ type: 'bridge' }] };

export const CGROUPS = '/sys/fs/cgroup';

/** Reports the result of the program. If it fails, the output has the logs. */
export async function reportOf(program: () => Promise<object>): Promise<void> {
  try {
    report(await program());
  } catch (error) {
    const logs = ['agent', 'containerd'].map((name) => readFileSync(`/run/${name}.log`, 'utf8').slice(-8000));
    process.stdout.write(`${error instanceof Error ? error.stack : String(error)}\n${logs.join('\n')}\n`);
  }
  process.exit();
}

/** A pod of busybox on the node's network. */
export function busyboxPod(name: string, script: string, more: object = {}, spec: object = {}): object {
  const command = ['sh', '-c', script];
  const containers = [{ name: 'main', image: BUSYBOX, imagePullPolicy: 'Never', command, ...more }];
  const ofPod = { hostNetwork: true, terminationGracePeriodSeconds: 1, containers, ...spec };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: ofPod };
}

export class KernelNode {
  /** The files that outlive a reboot: those of containerd, and the root folder of the agent. */
  readonly #dir: string;
  readonly #configuration: object;
  readonly #driver: CgroupDriverName;

  /** `driver`: of containerd and of the agent. */
  constructor(dir: string, configuration: object = {}, driver: CgroupDriverName = 'cgroupfs') {
    this.#dir = dir;
    this.#configuration = { cgroupDriver: driver, ...configuration };
    this.#driver = driver;
  }

  async startContainerd(): Promise<void> {
    execFileSync('busybox', ['ip', 'link', 'set', 'lo', 'up']);
    mkdirSync(join(STATE, 'cni'), { recursive: true });
    writeFileSync(join(STATE, 'cni/none.conflist'), JSON.stringify(CNI));
    writeFileSync(join(STATE, 'config.toml'), configurationOf(join(this.#dir, 'containerd'), this.#driver));
    start('containerd', ['containerd', '--config', join(STATE, 'config.toml')]);
    await waitFor(() => criServes(ENDPOINT), { what: 'containerd', pauseMs: 200 });
    const images = standardImages().filter(({ ref }) => [BUSYBOX, PAUSE].includes(ref));
    const ctr = ['--address', SOCKET, '--namespace', 'k8s.io', 'images', 'import', '-'];
    execFileSync('ctr', ctr, { input: archive(images), stdio: ['pipe', 'ignore', 'inherit'] });
    for (const { ref } of images)
      await waitFor(() => criHasImage(ENDPOINT, ref), { what: ref, pauseMs: 200 });
  }

  /** `pods`: the flag that names them. */
  startAgent(...pods: readonly string[]): ChildProcess {
    const file = '/run/kubelet.yaml';
    const head = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
    writeFileSync(file, JSON.stringify({ ...head, ...this.#configuration }));
    const bin = join(REPOSITORY, 'bin/statelet.js');
    const flags = [
      '--root-dir',
      join(this.#dir, 'statelet'),
      '--config',
      file,
      '--hostname-override',
      'node',
    ];
    const runtime = ['--container-runtime-endpoint', ENDPOINT];
    return start('agent', [process.execPath, '--jitless', bin, 'run', ...flags, ...runtime, ...pods]);
  }

  /** The agent's answer; undefined while it does not serve. */
  ask<T>(path: string): Promise<T | undefined> {
    return new Promise((resolve) => {
      const request = get({ host: '127.0.0.1', port: 10_248, path }, (answer) =>
        resolve(json(answer) as Promise<T>),
      );
      request.on('error', () => resolve(undefined));
    });
  }

  /** The agent's answer to its owner, as text. */
  async askOwner(path: string): Promise<string> {
    const ask = async (socketPath: string) => {
      const [answer] = (await once(get({ socketPath, path }), 'response')) as [IncomingMessage];
      return text(answer);
    };
    return withControlSocket(join(this.#dir, 'statelet'), ask);
  }

  /** So many pods by their names, once each is as wanted. */
  pods(count: number, what: string, isAsWanted: (pod: Pod) => boolean): Promise<ReadonlyMap<string, Pod>> {
    return waitFor(
      async () => {
        const items = (await this.ask<{ items: Pod[] }>('/pods'))?.items ?? [];
        if (items.length < count || !items.every(isAsWanted)) return undefined;
        return new Map(items.map((pod) => [pod.metadata.name, pod]));
      },
      { what, pauseMs: 300 },
    );
  }
}

/** Each in a group of its own beside that of the pods. */
function start(group: string, command: readonly string[]): ChildProcess {
  mkdirSync(join(CGROUPS, group), { recursive: true });
  const log = openSync(`/run/${group}.log`, 'a');
  const script = `echo $$ > ${CGROUPS}/${group}/cgroup.procs && exec "$@"`;
  return spawn('sh', ['-c', script, 'sh', ...command], { stdio: ['ignore', log, log] });
}

function configurationOf(root: string, driver: CgroupDriverName): string {
  return `version = 2
root = "${root}"
state = "${STATE}/state"
disabled_plugins = [${DISABLED.join()}]
[grpc]
address = "${SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "${PAUSE}"
[plugins."io.containerd.grpc.v1.cri".cni]
conf_dir = "${STATE}/cni"
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "native"
default_runtime_name = "runc"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = ${driver === 'systemd'}
`;
}
