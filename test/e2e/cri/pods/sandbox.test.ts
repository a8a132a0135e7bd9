/** The settings of a whole pod: names, network, namespaces, sysctls, the kind of sandbox. */
import { hostname as hostnameOfNode } from 'node:os';
import { join } from 'node:path';
import { readlinkSync, writeFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { NODE_NAME } from '../../../support/daemon.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { type DaemonSuiteOptions, describeOnDaemon } from '../../../support/cri-suite.ts';

/** A handler beside the default one: runc, with another name. */
const SECOND_HANDLER = `
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.other]
runtime_type = "io.containerd.runc.v2"
`;

const OPTIONS: DaemonSuiteOptions = {
  containerd: { config: SECOND_HANDLER },
  config: {
    allowedUnsafeSysctls: ['kernel.msg*'],
    clusterDNS: ['10.0.0.10'],
    clusterDomain: 'cluster.test',
  },
  beforeStart: ({ dir }) => {
    const resolvConf = join(dir, 'resolv.conf');
    writeFileSync(resolvConf, 'nameserver 192.0.2.53\nsearch node.test\noptions ndots:1\n');
    return ['--resolv-conf', resolvConf, '--runtime-classes', 'special=other,broken=missing'];
  },
};

describeOnDaemon('the sandbox of a pod', OPTIONS, ({ bed, daemon }) => {
  const own = { hostNetwork: false };

  test('a pod has its name or its spec.hostname as hostname, with its subdomain', async () => {
    bed.apply('plain', { ...own, containers: [bed.server()] });
    bed.apply('titled', { ...own, hostname: 'web-0', subdomain: 'shop', containers: [bed.server()] });
    bed.apply('full', {
      ...own,
      hostname: 'web-1',
      subdomain: 'shop',
      setHostnameAsFQDN: true,
      containers: [bed.server()],
    });
    const [plain, titled, full] = await Promise.all(
      ['plain', 'titled', 'full'].map((n) => daemon.running(n)),
    );
    const hostnames = await Promise.all([plain, titled, full].map((pod) => bed.exec(pod!, ['hostname'])));
    expect(hostnames).toEqual([`plain-${NODE_NAME}\n`, 'web-0\n', 'web-1.shop.default.svc.cluster.test\n']);
    const hosts = await bed.exec(titled!, ['cat', '/etc/hosts']);
    const ip = titled!.status?.podIP ?? '';
    expect(hosts).toContain(`${ip}\tweb-0.shop.default.svc.cluster.test\tweb-0`);
  });

  test("a hostname that is too long with its domain keeps the pod waiting, and the event has the kubelet's words", async () => {
    const hostname = 'a'.repeat(40);
    const named = { ...own, subdomain: 'shop', setHostnameAsFQDN: true, containers: [bed.server()] };
    bed.apply('overlong', { ...named, hostname });
    const { msg } = await daemon.event('overlong', 'FailedCreatePodSandBox');
    expect(msg).toContain(
      'Failed to create pod sandbox: failed to construct FQDN from pod hostname and cluster domain, ' +
        `FQDN ${hostname}.shop.default.svc.cluster.test is too long (64 characters is the max, 70 characters requested)`,
    );
    await daemon.inPhase('overlong', 'Pending');
  });

  test('DNS comes from the cluster, the node or the pod itself, as its policy says', async () => {
    const none = {
      dnsPolicy: 'None',
      dnsConfig: {
        nameservers: ['192.0.2.1'],
        searches: ['a.test'],
        options: [{ name: 'ndots', value: '2' }],
      },
    };
    const policies = {
      first: { ...own },
      'of-node': { ...own, dnsPolicy: 'Default' },
      'of-pod': { ...own, ...none },
      'on-node': { hostNetwork: true, dnsPolicy: 'ClusterFirst' },
      'on-node-with-cluster': { dnsPolicy: 'ClusterFirstWithHostNet' },
      more: { ...own, dnsConfig: { searches: ['more.test'], options: [{ name: 'edns0' }] } },
    };
    for (const [name, spec] of Object.entries(policies))
      bed.apply(name, { ...spec, containers: [bed.server()] });
    const read = async (name: string) =>
      (await bed.exec(await daemon.running(name), ['cat', '/etc/resolv.conf'])).trim().split('\n').toSorted();
    const files = Object.fromEntries(
      await Promise.all(Object.keys(policies).map(async (name) => [name, await read(name)] as const)),
    );
    const node = ['nameserver 192.0.2.53', 'options ndots:1', 'search node.test'];
    const searches = 'default.svc.cluster.test svc.cluster.test cluster.test node.test';
    const cluster = ['nameserver 10.0.0.10', 'options ndots:5', `search ${searches}`];
    expect(files).toEqual({
      first: cluster,
      'of-node': node,
      'of-pod': ['nameserver 192.0.2.1', 'options ndots:2', 'search a.test'],
      'on-node': node,
      'on-node-with-cluster': cluster,
      more: ['nameserver 10.0.0.10', 'options ndots:5 edns0', `search ${searches} more.test`],
    });
  });

  test('a pod with its own network knows its IP, and can be reached by the IP and by its host port', async () => {
    const port = 20_000 + (process.pid % 10_000);
    const serve =
      'trap "exit 0" TERM; echo from-the-pod > /tmp/index.html; httpd -f -p 8080 -h /tmp & wait $!';
    const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });
    bed.apply('web', {
      ...own,
      containers: [
        bed.shell(serve, {
          ports: [{ containerPort: 8080, hostPort: port }],
          env: [
            field('POD_IP', 'status.podIP'),
            field('POD_IPS', 'status.podIPs'),
            field('NODE', 'spec.nodeName'),
          ],
        }),
      ],
    });
    bed.apply('visitor', { ...own, containers: [bed.server()] });
    const [web, visitor] = await Promise.all([daemon.running('web'), daemon.running('visitor')]);
    const ip = web.status?.podIP ?? '';
    expect(ip).toMatch(/^10\./);
    expect(web.status?.podIPs).toEqual([{ ip }]);
    const env = await bed.exec(web, ['sh', '-c', 'echo $POD_IP $POD_IPS $NODE; hostname -i']);
    expect(env).toBe(`${ip} ${ip} ${NODE_NAME}\n${ip}\n`);

    const fromNode = (address: string) => fetch(`http://${address}/`).then((answer) => answer.text());
    const fromPod = (address: string) => {
      const request = `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 5 ${address.replace(':', ' ')}`;
      return bed.exec(visitor, ['sh', '-c', request]);
    };
    const answers = async (ask: (address: string) => Promise<string>, address: string) => {
      const asked = () => ask(address).catch(() => undefined);
      return waitFor(asked, { what: `an answer from ${address}` });
    };
    const nodeIP = web.status?.hostIP ?? '';
    for (const address of [`${ip}:8080`, `${nodeIP}:${String(port)}`]) {
      expect(await answers(fromNode, address)).toContain('from-the-pod');
      expect(await answers(fromPod, address)).toContain('from-the-pod');
    }
  });

  test('the namespaces of the node are shared only if the pod requests them', async () => {
    bed.apply('shares', { hostNetwork: true, hostPID: true, hostIPC: true, containers: [bed.server()] });
    bed.apply('alone', { ...own, containers: [bed.server(), bed.server({ name: 'second' })] });
    bed.apply('together', {
      ...own,
      shareProcessNamespace: true,
      containers: [bed.server(), bed.server({ name: 'second' })],
    });
    const namespaces = async (name: string, container: string) => {
      const script = 'for n in net pid ipc uts mnt; do readlink /proc/self/ns/$n; done';
      const text = await bed.exec(await daemon.running(name), ['sh', '-c', script], container);
      const [net = '', pid = '', ipc = '', uts = '', mnt = ''] = text.trim().split('\n');
      return { net, pid, ipc, uts, mnt };
    };
    const ofNode = (name: string) => readlinkSync(`/proc/self/ns/${name}`);
    const onNode = await namespaces('shares', 'main');
    expect(onNode).toMatchObject({ net: ofNode('net'), pid: ofNode('pid'), ipc: ofNode('ipc') });
    expect(onNode.mnt).not.toBe(ofNode('mnt'));
    const pod = await daemon.running('shares');
    expect(await bed.exec(pod, ['hostname'])).toBe(`${hostnameOfNode()}\n`);
    expect(pod.status?.podIP).toBe(pod.status?.hostIP);

    const alone = [await namespaces('alone', 'main'), await namespaces('alone', 'second')] as const;
    for (const name of ['net', 'pid', 'ipc', 'uts', 'mnt'] as const) {
      expect(alone[0][name]).not.toBe(ofNode(name));
      if (name === 'pid' || name === 'mnt') expect(alone[0][name]).not.toBe(alone[1][name]);
      else expect(alone[0][name]).toBe(alone[1][name]);
    }
    const together = [await namespaces('together', 'main'), await namespaces('together', 'second')] as const;
    expect(together[0].pid).toBe(together[1].pid);
    expect(together[0].pid).not.toBe(ofNode('pid'));
  });

  test('safe and allowed sysctls are set, and others are refused', async () => {
    const sysctls = (...names: string[]) => ({
      securityContext: { sysctls: names.map((name) => ({ name, value: '61' })) },
    });
    bed.apply('tuned', {
      ...own,
      ...sysctls('net.ipv4.tcp_fin_timeout', 'kernel/msgmni'),
      containers: [bed.server()],
    });
    bed.apply('greedy', { ...own, ...sysctls('net.core.somaxconn'), containers: [bed.server()] });
    const tuned = await daemon.running('tuned');
    const files = ['/proc/sys/net/ipv4/tcp_fin_timeout', '/proc/sys/kernel/msgmni'];
    expect(await bed.exec(tuned, ['cat', ...files])).toBe('61\n61\n');
    const greedy = await daemon.inPhase('greedy', 'Failed');
    expect(greedy.status).toMatchObject({
      reason: 'SysctlForbidden',
      message: expect.stringContaining('net.core.somaxconn'),
    });
    expect(await daemon.event('greedy', 'SysctlForbidden')).toMatchObject({ level: 'warn' });
  });

  test('a RuntimeClass selects its handler; an unknown RuntimeClass is named in an event, and the pod waits', async () => {
    for (const [name, runtimeClassName] of [
      ['sandboxed', 'special'],
      ['unknown', 'nobodys'],
      ['missing', 'broken'],
    ] as const)
      bed.apply(name, { ...own, runtimeClassName, containers: [bed.server()] });
    const pod = await daemon.running('sandboxed');
    const labelSelector = { 'io.kubernetes.pod.uid': pod.metadata.uid };
    const sandboxes = await bed.runtime.listPodSandbox({ labelSelector });
    expect(sandboxes.map(({ runtimeHandler }) => runtimeHandler)).toEqual(['other']);
    const unknown = await daemon.event('unknown', 'FailedCreatePodSandBox');
    expect(unknown.msg).toContain(
      'runtimeclass.node.k8s.io "nobodys" not found: this node knows special, broken',
    );
    const missing = await daemon.event('missing', 'FailedCreatePodSandBox');
    expect(missing.msg).toContain('missing');
    const waiting = await daemon.inPhase('unknown', 'Pending');
    expect(waiting.status?.containerStatuses?.[0]?.state?.waiting?.reason).toBe('ContainerCreating');
  });
});
