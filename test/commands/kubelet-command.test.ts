import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { Command } from 'commander';
import { configure } from '../../src/commands/configure.ts';
import { kubeletArguments, kubeletVersion } from '../../src/commands/kubelet-command.ts';
import { addRunFlags } from '../../src/commands/run-flags.ts';
import type { RunFlags } from '../../src/agent/config/config.ts';

/** Recorded from a kubelet by `npm run update:kubelet-facts`: name, type, default, and whether it is deprecated. */
const { flags } = JSON.parse(
  readFileSync(new URL('../agent/config/kubelet-facts.json', import.meta.url), 'utf8'),
) as { readonly flags: readonly (readonly [string, string, string, string])[] };

function configured(...words: readonly string[]) {
  const command = addRunFlags(new Command().exitOverride().configureOutput({ writeErr: () => undefined }));
  const { words: own, idle } = kubeletArguments(words, command.options, { isStrict: true });
  const given = command.parse(own, { from: 'user' }).opts<RunFlags>();
  return configure({ ...given, idle, asKubelet: true });
}

/** As the kubelet's flag reads it: the help has lists in brackets, and nothing for what is zero. */
function textOf(type: string, byDefault: string): string {
  if (byDefault !== '') return byDefault.replaceAll(/^\[|\]$/gu, '');
  return { duration: '0s', quantity: '0', Level: '0', int: '0', int32: '0' }[type] ?? '';
}

const given = flags.filter(([name]) => name !== 'help' && name !== 'version');

describe('a flag of the kubelet that is given with its default is accepted without a message', () => {
  test.each(given)('--%s, a %s: %s', async (name, type, byDefault) => {
    const { warnings } = await configured(`--${name}=${textOf(type, byDefault)}`);
    expect(warnings).toEqual([]);
  });
});

test('all of them together are accepted without a message', async () => {
  const { config, warnings } = await configured(
    ...given.map(([name, type, byDefault]) => `--${name}=${textOf(type, byDefault)}`),
  );
  expect(warnings).toEqual([]);
  expect(config).toMatchObject({ rootDir: '/var/lib/kubelet', maxPods: 110, server: { port: 10_250 } });
});

describe('the command line of an installer is accepted, and each flag without effect is one warning', () => {
  const K3S = [
    '--address=0.0.0.0 --allowed-unsafe-sysctls=net.ipv4.ip_forward,net.ipv6.conf.all.forwarding --anonymous-auth=false',
    '--authentication-token-webhook=true --authorization-mode=Webhook --cgroup-driver=systemd --client-ca-file=/a/client-ca.crt',
    '--cloud-provider=external --cluster-dns=10.43.0.10 --cluster-domain=cluster.local --containerd=/run/k3s/containerd/containerd.sock',
    '--container-runtime-endpoint=unix:///run/k3s/containerd/containerd.sock --eviction-hard=imagefs.available<5%,nodefs.available<5%',
    '--eviction-minimum-reclaim=imagefs.available=10%,nodefs.available=10% --fail-swap-on=false --healthz-bind-address=127.0.0.1',
    '--hostname-override=node-1 --kubeconfig=/a/kubelet.kubeconfig --node-ip=10.0.0.5 --node-labels= --read-only-port=0',
    '--pod-infra-container-image=rancher/mirrored-pause:3.6 --pod-manifest-path=/a/pod-manifests --serialize-image-pulls=false',
    '--resolv-conf=/run/systemd/resolve/resolv.conf --tls-cert-file=/a/kubelet.crt --tls-private-key-file=/a/kubelet.key',
  ];
  const MINIKUBE = [
    '--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --cgroups-per-qos=false --enforce-node-allocatable=',
    '--hostname-override=minikube --kubeconfig=/etc/kubernetes/kubelet.conf --node-ip=192.168.49.2',
  ];
  const KIND = [
    '--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf --node-labels=',
    '--container-runtime-endpoint=unix:///run/containerd/containerd.sock --node-ip=172.18.0.2 --cgroup-root=/kubelet',
    '--provider-id=kind://docker/kind/kind-control-plane --runtime-cgroups=/system.slice/containerd.service',
  ];
  const GKE = [
    '--v=2 --cloud-provider=external --experimental-mounter-path=/home/kubernetes/mounter --cert-dir=/var/lib/kubelet/pki/ --max-pods=110',
    '--kubeconfig=/var/lib/kubelet/kubeconfig --volume-plugin-dir=/home/kubernetes/flexvolume --node-status-max-images=25 --registry-qps=10',
    '--container-runtime-endpoint=unix:///run/containerd/containerd.sock --runtime-cgroups=/system.slice/containerd.service',
    '--registry-burst=20 --node-labels=cloud.google.com/gke-nodepool=pool-1 --register-with-taints=a=b:NoSchedule',
  ];
  const KOPS = [
    '--authentication-token-webhook=true --authorization-mode=Webhook --cgroup-driver=systemd --cgroup-root=/ --cloud-provider=external',
    '--cluster-dns=100.64.0.10 --enable-debugging-handlers=true --eviction-hard=memory.available<100Mi,nodefs.available<10%',
    '--kubeconfig=/var/lib/kubelet/kubeconfig --pod-manifest-path=/etc/kubernetes/manifests --protect-kernel-defaults=true --v=2',
    '--register-schedulable=true --volume-plugin-dir=/usr/libexec/kubernetes/kubelet-plugins/volume/exec/ --oom-score-adj=-999',
  ];

  test.each<[string, readonly string[], readonly string[]]>([
    ['k3s', K3S, ['--containerd', '--fail-swap-on', '--pod-infra-container-image']],
    ['minikube', MINIKUBE, []],
    ['kind', KIND, []],
    ['GKE', GKE, ['--experimental-mounter-path', '--volume-plugin-dir']],
    ['kOps', KOPS, ['--protect-kernel-defaults']],
  ])('%s', async (_, lines, idle) => {
    const { warnings } = await configured(...lines.flatMap((line) => line.split(' ')));
    expect(warnings.map((warning) => warning.split(':')[0])).toEqual(idle);
  });
});

test('--version prints the version of Kubernetes, in the line that installers read', () => {
  expect(kubeletVersion('true')).toBe('Kubernetes v1.36.2\n');
  expect(kubeletVersion('1')).toBe('Kubernetes v1.36.2\n');
  expect(kubeletVersion('false')).toBeUndefined();
});

test('--version=raw has its parts, as Go writes them', () => {
  expect(kubeletVersion('raw')).toMatch(
    /^version\.Info\{Major:"1", Minor:"36", (?:\w+:"", ){4}GitVersion:"v1\.36\.2", .*Platform:"linux\/\w+"\}\n$/u,
  );
});

test('the version with a suffix may be given, and no other', () => {
  expect(kubeletVersion('v1.36.2-eks-1')).toBeUndefined();
  expect(() => kubeletVersion('v1.35.0')).toThrow(
    '--version: version "v1.35.0" must match major/minor/patch of default version "v1.36.2"',
  );
  expect(() => kubeletVersion('maybe')).toThrow(/^--version: must be true, false, raw, or v1\.36\.2/u);
});

const OPTIONS = addRunFlags(new Command()).options;

const read = (...words: string[]) => kubeletArguments(words, OPTIONS, { isStrict: true });

const loose = (...words: string[]) => kubeletArguments(words, OPTIONS, { isStrict: false });

describe('a command line of the kubelet', () => {
  test('may have underscores for hyphens in names, and keeps those of values', () => {
    expect(read('--node_ip=10.0.0.1', '--hostname_override', 'a_b', '--cert-dir=/a_b').words).toEqual([
      ...['--node-ip=10.0.0.1', '--hostname-override', 'a_b', '--cert-dir=/a_b'],
    ]);
  });

  test('has flags without effect, with their values, which are taken out', () => {
    const { words, idle } = read(
      ...['--oom-score-adj', '-5', '--max-pods=3', '--fail_swap_on=false', '--hairpin-mode=none'],
      ...['--protect-kernel-defaults', '--vmodule=a=1', '--vmodule', 'b=2'],
    );
    expect(words).toEqual(['--max-pods=3']);
    expect(idle).toEqual({
      'oom-score-adj': ['-5'],
      'fail-swap-on': ['false'],
      'hairpin-mode': ['none'],
      'protect-kernel-defaults': ['true'],
      vmodule: ['a=1', 'b=2'],
    });
  });

  test('has values that look like flags', () => {
    expect(read('--provider-id', '--fail-swap-on', '--lock-file', '--max-pods', '-v', '--vmodule')).toEqual({
      words: ['--provider-id', '--fail-swap-on', '-v', '--vmodule'],
      idle: { 'lock-file': ['--max-pods'] },
      version: undefined,
    });
  });

  test('has boolean flags that never take the next word, as in Go', () => {
    expect(read('--register-node', 'false', '--fail-swap-on', 'false').words).toEqual([
      ...['--register-node=true', 'false', 'false'],
    ]);
    expect(loose('--register-node', 'false').words).toEqual(['--register-node', 'false']);
  });

  test('ends its flags with --', () => {
    expect(read('--', '--oom-score-adj=5')).toMatchObject({ words: ['--', '--oom-score-adj=5'], idle: {} });
  });

  test('may ask for the version and for help', () => {
    expect(read('--version').version).toBe('true');
    expect(read('--version=raw').version).toBe('raw');
    expect(read('--help=true', '--help=false', '--help').words).toEqual(['--help', '--help']);
  });

  test('lacks a value', () => {
    expect(() => read('--lock-file')).toThrow('--lock-file: needs a value');
  });
});
