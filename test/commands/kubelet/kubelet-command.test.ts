import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { Command } from 'commander';
import { configure } from '../../../src/commands/configure.ts';
import { kubeletArguments } from '../../../src/commands/kubelet/kubelet-arguments.ts';
import { addRunFlags } from '../../../src/commands/run-flags.ts';
import type { RunFlags } from '../../../src/config/config.ts';

/** Recorded from a kubelet by `npm run update:kubelet-facts`: name, type, default, and whether it is deprecated. */
const { flags } = JSON.parse(
  readFileSync(new URL('../../config/kubelet-facts.json', import.meta.url), 'utf8'),
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

describe('a flag of the kubelet that is given with its default is taken without a word', () => {
  test.each(given)('--%s, a %s: %s', async (name, type, byDefault) => {
    const { warnings } = await configured(`--${name}=${textOf(type, byDefault)}`);
    expect(warnings).toEqual([]);
  });
});

test('all of them together are taken without a word', async () => {
  const { config, warnings } = await configured(
    ...given.map(([name, type, byDefault]) => `--${name}=${textOf(type, byDefault)}`),
  );
  expect(warnings).toEqual([]);
  expect(config).toMatchObject({ rootDir: '/var/lib/kubelet', maxPods: 110, server: { port: 10_250 } });
});

describe('the command line of an installer is taken, and each flag without effect is one warning', () => {
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
