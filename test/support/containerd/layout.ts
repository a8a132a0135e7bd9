/** The files of the containerd of a test, and the names that it uses outside its folder. */
import { randomBytes, randomInt } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownNumber } from '../free-port.ts';
import { PAUSE } from './images.ts';

/** The names that a bed uses outside its folder. They are stored in the folder, so that the folder is enough to remove the bed. */
export interface Belongings {
  readonly bridge: string;
  /** Comments of iptables rules have this name, too. */
  readonly network: string;
  /** A cgroup for a daemon of the test. It is removed with the bed. */
  readonly cgroupRoot: string;
}

export interface Layout extends Belongings {
  readonly dir: string;
  readonly rootDir: string;
  readonly socket: string;
  readonly cniConfDir: string;
  readonly cniBinDir: string;
  /** A file with the name of a pod in this folder delays all calls for the network of that pod. */
  readonly heldDir: string;
  /** Of specs of the Container Device Interface. */
  readonly cdiDir: string;
  readonly configFile: string;
  readonly logFile: string;
}

const CAP_SYS_RESOURCE = 24n;
/** The plugin that runs before the others. */
const GATE = 'gate';
/** The kernel's number of the file system on which no other overlay can lie. */
export const OVERLAYFS_MAGIC = 0x794c7630;

/** Plugins that tests do not need. Each would slow down every start. */
const DISABLED_PLUGINS = ['aufs', 'btrfs', 'devmapper', 'zfs'].map(
  (name) => `io.containerd.snapshotter.v1.${name}`,
);

export function layoutIn(dir: string): Layout {
  const belongings = JSON.parse(readFileSync(join(dir, 'belongings.json'), 'utf8')) as Belongings;
  return {
    ...belongings,
    dir,
    rootDir: join(dir, 'root'),
    socket: join(dir, 'containerd.sock'),
    cniConfDir: join(dir, 'cni'),
    cniBinDir: join(dir, 'cni-bin'),
    heldDir: join(dir, 'held'),
    cdiDir: join(dir, 'cdi'),
    configFile: join(dir, 'config.toml'),
    logFile: join(dir, 'containerd.log'),
  };
}

/** `pluginDir`: the folder of CNI plugins of this machine; `more`: text that is appended to the configuration. */
export function createLayout(pluginDir: string, more: string): Layout {
  const dir = mkdtempSync(join(tmpdir(), 'statelet-containerd-'));
  const id = randomBytes(4).toString('hex');
  const network = `statelet-test-${id}`;
  const belongings: Belongings = { bridge: `st${id}`, network, cgroupRoot: `/${network}` };
  writeFileSync(join(dir, 'belongings.json'), JSON.stringify(belongings));
  const layout = layoutIn(dir);
  const { cniConfDir, cniBinDir, heldDir, cdiDir } = layout;
  for (const path of [cniConfDir, cniBinDir, heldDir, cdiDir]) mkdirSync(path);
  for (const name of readdirSync(pluginDir)) symlinkSync(join(pluginDir, name), join(layout.cniBinDir, name));
  writeFileSync(join(layout.cniBinDir, GATE), gate(layout, pluginDir), { mode: 0o755 });
  writeFileSync(join(layout.cniConfDir, '10-pods.conflist'), JSON.stringify(cniConf(layout), null, 2));
  writeFileSync(layout.configFile, config(layout) + more);
  return layout;
}

function config({ dir, rootDir, socket, cniConfDir, cniBinDir, cdiDir }: Layout): string {
  const snapshotter = statfsSync(dir).type === OVERLAYFS_MAGIC ? 'native' : 'overlayfs';
  const text = JSON.stringify;
  return `version = 2
root = ${text(rootDir)}
state = ${text(join(dir, 'state'))}
disabled_plugins = ${text(DISABLED_PLUGINS)}

[grpc]
address = ${text(socket)}

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = ${text(PAUSE)}
restrict_oom_score_adj = ${restrictsOomScoreAdj()}
netns_mounts_under_state_dir = true
enable_cdi = true
cdi_spec_dirs = [${text(cdiDir)}]

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = ${text(cniBinDir)}
conf_dir = ${text(cniConfDir)}

[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = ${text(snapshotter)}
default_runtime_name = "runc"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
Root = ${text(join(dir, 'runc'))}
`;
}

function cniConf({ dir, bridge, network }: Layout): object {
  const ranges = [[{ subnet: freeSubnet() }]];
  const ipam = { type: 'host-local', ranges, routes: [{ dst: '0.0.0.0/0' }], dataDir: join(dir, 'ipam') };
  return {
    cniVersion: '0.4.0',
    name: network,
    plugins: [
      { type: GATE, bridge, isGateway: true, hairpinMode: true, ipam },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  };
}

/** The bridge plugin, after the delay of the pod has ended. */
function gate({ heldDir }: Layout, pluginDir: string): string {
  return `#!/bin/sh
pod=\${CNI_ARGS#*K8S_POD_NAME=}
while [ -f "${heldDir}/\${pod%%;*}" ]; do sleep 0.05; done
exec "${pluginDir}/bridge"
`;
}

function freeSubnet(): string {
  const taken = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  for (;;) {
    const prefix = `10.${64 + ownNumber(128)}.${randomInt(256)}.`;
    if (!taken.some(({ address }) => address.startsWith(prefix))) return `${prefix}0/24`;
  }
}

/** Without the capability no process may get a lower OOM score than its parent, and no sandbox would start. */
export function restrictsOomScoreAdj(): boolean {
  const effective = /^CapEff:\s*(\w+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
  return ((BigInt(`0x${effective}`) >> CAP_SYS_RESOURCE) & 1n) === 0n;
}
