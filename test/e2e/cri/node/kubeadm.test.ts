/** A node as kubeadm leaves it, on which the kubelet is a link to the agent: nothing that kubeadm has written is changed. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Node, Pod } from '../../../../src/types/kubernetes.ts';
import { type ContainerdBed, startContainerd } from '../../../support/containerd/containerd.ts';
import { type ControlPlane, startOne } from '../../../support/control-plane.ts';
import { allowBootstrap, writeBootstrapKubeconfig } from '../../../support/control-plane/node-bootstrap.ts';
import { SERVE } from '../../../support/cri-daemon.ts';
import { layOutKubeadmNode, writeOn } from '../../../support/systemd/kubeadm-node.ts';
import { SystemdMachine } from '../../../support/systemd/machine.ts';
import { describeWithSystemd } from '../../../support/systemd/suite.ts';
import { waitFor } from '../../../support/wait-for.ts';

const MANIFEST = '/etc/kubernetes/manifests/web.json';

describeWithSystemd('a node that kubeadm has set up', () => {
  let machine: SystemdMachine;
  let containerd: ContainerdBed;
  let controlPlane: ControlPlane;
  let log: string;
  let nodeName: string;

  beforeAll(async () => {
    containerd = await startContainerd({
      config: 'SystemdCgroup = true\n',
      machine: async (dir, cgroup) => (machine = await SystemdMachine.start(dir, cgroup)),
    });
    nodeName = (await machine.run('hostname')).trim();
    controlPlane = await startOne({ with: ['kube-controller-manager'] });
    await allowBootstrap(controlPlane);
    log = join(containerd.dir, 'kubelet.log');
    const bootstrap = writeBootstrapKubeconfig(join(containerd.dir, 'bootstrap'), controlPlane);
    await layOutKubeadmNode({
      machine,
      socket: containerd.endpoint.slice('unix://'.length),
      authority: readFileSync(controlPlane.ca.files.cert, 'utf8'),
      bootstrapKubeconfig: readFileSync(bootstrap, 'utf8'),
      nodeIp: controlPlane.nodeIp,
      log,
    });
  });
  afterAll(async () => {
    await machine.systemctl('stop', 'kubelet');
    await controlPlane.stop();
    await containerd.stop();
  });

  const node = () => controlPlane.read<Node>(`/api/v1/nodes/${nodeName}`);
  const mirror = () => controlPlane.read<Pod>(`/api/v1/namespaces/default/pods/web-${nodeName}`);
  const running = async () => {
    const pod = await mirror();
    return pod?.status?.phase === 'Running' && pod;
  };

  test('kubelet --version prints the version in the form that the preflight of kubeadm reads', async () => {
    expect(await machine.run('/usr/bin/kubelet', '--version')).toBe('Kubernetes v1.36.2\n');
  });

  test('the unit of its packages starts it, it is healthy where kubeadm asks, and the node is ready with its taint', async () => {
    await machine.systemctl('start', 'kubelet');
    const isReady = async () => {
      const found = await node();
      return (
        found?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') && found
      );
    };
    const ready = await waitFor(isReady, { what: 'the node to be ready', pauseMs: 100 }).catch(
      (cause: unknown) => {
        throw new Error(`the node is not ready; its log:\n${readFileSync(log, 'utf8')}`, { cause });
      },
    );
    expect(ready.spec?.taints).toContainEqual({
      key: 'node-role.kubernetes.io/control-plane',
      effect: 'NoSchedule',
    });
    expect(ready.status?.nodeInfo?.kubeletVersion).toBe('v1.36.2');
    const health = await fetch(`http://${controlPlane.nodeIp}:10248/healthz`);
    expect([health.status, await health.text()]).toEqual([200, 'ok']);
    const pki = await machine.run('ls', '/var/lib/kubelet/pki');
    expect(pki).toContain('kubelet-client-current.pem');
    expect(await machine.run('cat', '/etc/kubernetes/kubelet.conf')).toContain(
      '/var/lib/kubelet/pki/kubelet-client-current.pem',
    );
  });

  test('of all that kubeadm writes, one flag has no effect, and no field', () => {
    const warnings = readFileSync(log, 'utf8')
      .split('\n')
      .filter((line) => /has no effect|without effect/u.test(line));
    expect(warnings).toEqual([expect.stringMatching(/--pod-infra-container-image: has no effect/u)]);
  });

  test('static pods of /etc/kubernetes/manifests run in the slices of systemd', async () => {
    const { image } = containerd;
    const spec = {
      hostNetwork: true,
      terminationGracePeriodSeconds: 5,
      containers: [{ name: 'main', image, command: SERVE }],
    };
    await writeOn(
      machine,
      MANIFEST,
      JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec }),
    );
    const { metadata } = await waitFor(running, { what: 'the static pod to run', pauseMs: 100 });
    const hash = metadata.annotations?.['kubernetes.io/config.hash'] ?? '';
    const slice = `kubepods-besteffort-pod${hash.replaceAll('-', '_')}.slice`;
    expect(await machine.show(slice, 'ActiveState')).toBe('active');
  });

  test('systemctl restart leaves the pod running, and the next kubelet has it', async () => {
    const before = (await mirror())?.status?.containerStatuses?.[0]?.containerID;
    // kubeadm removes it as soon as the node has its own certificate.
    await machine.run('rm', '/etc/kubernetes/bootstrap-kubelet.conf');
    await machine.systemctl('restart', 'kubelet');
    await machine.run('rm', MANIFEST);
    // Only an agent that has adopted the pod can end it.
    await waitFor(async () => (await mirror()) === undefined, { what: 'the static pod to go', pauseMs: 100 });
    expect(before).toMatch(/^containerd:\/\//u);
    expect(await machine.show('kubelet', 'NRestarts')).toBe('0');
  });
});
