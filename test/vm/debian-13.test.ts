/**
 * The commands of examples/systemd on a fresh Debian 13, and what an operator does with such a node. The machine is emulated, and takes most
 * of an hour: `npm run test:vm`. Its transcript is written to `vm-debian-13.log`, in the folder VM_TRANSCRIPTS if that is set.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Node, Pod } from '../../src/types/kubernetes.ts';
import { installVirtualMachine } from '../support/containerd/packages.ts';
import { archive, busyboxImage, pauseImage } from '../support/containerd/images.ts';
import { type ControlPlane, startControlPlane } from '../support/control-plane/control-plane.ts';
import { allowBootstrap, writeBootstrapKubeconfig } from '../support/control-plane/node-bootstrap.ts';
import { copyPackage } from '../support/vm/copy-package.ts';
import { VirtualMachine } from '../support/vm/virtual-machine.ts';
import { waitFor } from '../support/wait-for.ts';

const README = readFileSync('examples/systemd/README.md', 'utf8');
const NODE = 'debian';
const BUSYBOX = 'docker.io/library/busybox:1.37';
const IMAGES = [busyboxImage(BUSYBOX), pauseImage('registry.k8s.io/pause:3.8')];
const PATIENCE = { timeoutMs: 900_000, pauseMs: 2000 } as const;
/** What the test adds to the configuration: whom the node trusts, and who signs for it; an eviction that 2 GiB can reach; a shutdown in peace. */
const MORE_CONFIG = `
serverTLSBootstrap: true
authentication: { x509: { clientCAFile: /etc/statelet/ca.crt } }
evictionHard: { memory.available: 600Mi }
shutdownGracePeriod: 120s
shutdownGracePeriodCriticalPods: 30s
`;

/** The commands of the README's section. */
function commandsOf(section: string): readonly string[] {
  const from = README.indexOf(section);
  const [, block = ''] = /```sh\n([^]*?)```/.exec(README.slice(from)) ?? [];
  if (from < 0 || block === '')
    throw new Error(`examples/systemd/README.md has no commands below "${section}"`);
  return block.trim().split('\n');
}

describe('a fresh Debian 13', () => {
  let machine: VirtualMachine;
  let cluster: ControlPlane;
  let closeFront: () => void;

  beforeAll(async () => {
    await installVirtualMachine();
    [machine, cluster] = await Promise.all([
      VirtualMachine.start({ name: 'debian-13' }),
      startControlPlane({ nodeName: NODE, with: ['kube-controller-manager'] }),
    ]);
    closeFront = await serveAt(machine.network.gateway, cluster);
  });
  afterAll(async () => {
    closeFront();
    await cluster.stop();
    await machine.stop();
  });

  /** Types the commands into one shell: a `cd` holds for those after it. */
  async function type(commands: readonly string[]): Promise<readonly string[]> {
    let folder = '/root';
    const outputs: string[] = [];
    for (const command of commands) {
      const [, to] = /^cd (\S+)$/.exec(command) ?? [];
      outputs.push(await once(`cd ${folder} && ${command}`));
      folder = to ?? folder;
      if (command.includes('restart containerd')) await importImages();
    }
    return outputs;
  }

  /** A person asks the agent again while it starts, and looks at a log that goes on for a while. */
  async function once(command: string): Promise<string> {
    if (!command.includes('&& statelet ')) return machine.shell(command);
    const follow = 'statelet logs --follow first';
    // 124: it was ended because it took too long.
    const script = command.replace(follow, `{ timeout 20 ${follow} || [ $? = 124 ]; }`);
    const answer = () => machine.shell(script).catch(() => undefined);
    return waitFor(answer, { what: command, ...PATIENCE });
  }

  /** The machine has no registry. */
  async function importImages(): Promise<void> {
    const file = join(machine.dir, 'images.tar');
    writeFileSync(file, archive(IMAGES));
    await machine.copyIn(file, '/root/images.tar');
    await machine.shell('ctr --namespace k8s.io images import --all-platforms /root/images.tar');
  }

  const pod = (name: string) => cluster.read<Pod>(`/api/v1/namespaces/default/pods/${name}`);
  const podIs = (name: string, what: string, is: (pod: Pod) => boolean | undefined): Promise<Pod> => {
    const asWanted = async () => {
      const found = await pod(name);
      return found !== undefined && is(found) === true && found;
    };
    return waitFor(asWanted, { what: `${name} ${what}`, ...PATIENCE });
  };
  const isRunning = ({ status }: Pod) => status?.containerStatuses?.[0]?.state?.running !== undefined;
  const nodeIs = (what: string, is: (node: Node) => boolean | undefined): Promise<Node> =>
    waitFor(
      async () => {
        const node = await cluster.read<Node>(`/api/v1/nodes/${NODE}`);
        return node !== undefined && is(node) === true && node;
      },
      { what: `the node ${what}`, ...PATIENCE },
    );
  const condition = ({ status }: Node, type: string) =>
    status?.conditions?.find((one) => one.type === type)?.status;

  const create = (name: string, script: string, more: object = {}, of: object = {}) =>
    cluster.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'default' },
      spec: {
        nodeName: NODE,
        automountServiceAccountToken: false,
        terminationGracePeriodSeconds: 5,
        containers: [{ name: 'main', image: BUSYBOX, command: ['sh', '-c', script], ...more }],
        ...of,
      },
    });
  const kubectl = async (...args: readonly string[]) => {
    machine.note(`(on the host) kubectl ${args.join(' ')}`);
    const output = await cluster.kubectl(...args);
    machine.note(output);
    return output;
  };
  /** Of the pod's slice, by its expanded path. */
  async function inSlice({ metadata }: Pod, file: string, qos = 'burstable'): Promise<string> {
    const slice = `kubepods-${qos}-pod${metadata.uid.replaceAll('-', '_')}.slice`;
    const path = `/sys/fs/cgroup/kubepods.slice/kubepods-${qos}.slice/${slice}/${file}`;
    return (await machine.shell(`cat ${path}`)).trim();
  }

  test('runs its first pod after the commands of the README', async () => {
    await copyPackage(machine);
    const outputs = await type(commandsOf('# A node on Debian 13'));
    expect(outputs.at(-2)).toContain('first');
    expect(outputs.at(-1)).toMatch(/UTC \d{4}/);
  });

  test('becomes a ready node of a cluster', async () => {
    await allowBootstrap(cluster);
    const kubeconfig = join(machine.dir, 'bootstrap.kubeconfig');
    const port = new URL(cluster.server).port;
    writeBootstrapKubeconfig(kubeconfig, cluster, `https://${machine.network.gateway}:${port}`);
    await machine.copyIn(kubeconfig, '/root/bootstrap.kubeconfig');
    await machine.copyIn(cluster.ca.files.cert, '/etc/statelet/ca.crt');
    await machine.shell(`cat >> /etc/statelet/config.yaml <<'EOF'${MORE_CONFIG}EOF`);
    const examples = '/usr/share/doc/statelet/examples/systemd';
    await machine.shell(`cp /root/bootstrap.kubeconfig ${examples}/`);
    const joining = commandsOf('## In a cluster').filter((command) => !command.startsWith('kubectl'));
    await type([`cd ${examples}`, ...joining]);
    await nodeIs('is ready', (node) => condition(node, 'Ready') === 'True');
    const signer = 'spec.signerName=kubernetes.io/kubelet-serving';
    const request = async () =>
      (await cluster.kubectl('get', 'csr', '--field-selector', signer, '-o', 'name')).trim();
    const name = await waitFor(async () => (await request()) || undefined, {
      what: 'the node to ask for a serving certificate',
      ...PATIENCE,
    });
    await kubectl('certificate', 'approve', name.replace(/^.*\//, ''));
    expect(await kubectl('get', 'node', '--no-headers')).toMatch(/^debian\s+Ready/);
  });

  test('gives a pod its limits, in slices of systemd', async () => {
    const resources = {
      requests: { cpu: '250m', memory: '32Mi' },
      limits: { cpu: '500m', memory: '64Mi' },
    };
    await create('limited', 'trap "exit 0" TERM; while :; do sleep 1; done', { resources });
    const limited = await podIs('limited', 'runs', isRunning);
    expect(await inSlice(limited, 'memory.max')).toBe(String(64 * 1024 * 1024));
    expect(await inSlice(limited, 'cpu.max')).toBe('50000 100000');
    expect(await inSlice(limited, 'cpu.weight')).toBe('10');
    const unit = `kubepods-burstable-pod${limited.metadata.uid.replaceAll('-', '_')}.slice`;
    expect(await machine.shell(`systemctl show --property=MemoryMax,CPUWeight ${unit}`)).toBe(
      `CPUWeight=10\nMemoryMax=${64 * 1024 * 1024}\n`,
    );
  });

  test('says that a container was killed for want of memory', async () => {
    const resources = { limits: { memory: '32Mi' } };
    await create('greedy', 'head -c 100m /dev/zero | tail', { resources }, { restartPolicy: 'Never' });
    const { status } = await podIs('greedy', 'fails', (one) => one.status?.phase === 'Failed');
    expect(status?.containerStatuses?.[0]?.state?.terminated).toMatchObject({
      reason: 'OOMKilled',
      exitCode: 137,
    });
  });

  test('serves logs and exec', async () => {
    await create('talker', 'echo hello from the pod; trap "exit 0" TERM; while :; do sleep 1; done');
    await podIs('talker', 'runs', isRunning);
    // The serving certificate may be a moment old.
    const logs = () => cluster.kubectl('logs', 'talker').catch(() => undefined);
    await waitFor(logs, { what: 'the node to serve logs', ...PATIENCE });
    expect(await kubectl('logs', 'talker')).toBe('hello from the pod\n');
    expect(await kubectl('exec', 'talker', '--', 'cat', '/etc/hostname')).toBe('talker\n');
  });

  test('keeps its pods over a restart and a kill -9 of the agent', async () => {
    const [before, since] = [await podIs('talker', 'runs', isRunning), startOf(await pod('talker'))];
    await machine.shell('systemctl restart statelet');
    await machine.shell('systemctl kill --kill-whom=main --signal=KILL statelet');
    await machine.shell('until systemctl is-active statelet; do sleep 2; done');
    await create('later', 'trap "exit 0" TERM; while :; do sleep 1; done');
    await podIs('later', 'runs', isRunning);
    const after = await podIs('talker', 'runs', isRunning);
    expect([startOf(after), after.status?.containerStatuses?.[0]?.restartCount]).toEqual([since, 0]);
    expect(after.metadata.uid).toBe(before.metadata.uid);
  });

  test('evicts a pod that takes the memory of the node', async () => {
    // dd fills its buffer, and keeps it.
    const script = 'dd if=/dev/zero bs=1300M count=1 | sleep 1000';
    await create('eater', script);
    const { status } = await podIs('eater', 'is evicted', (one) => one.status?.phase === 'Failed');
    expect(status).toMatchObject({ reason: 'Evicted', message: expect.stringContaining('memory') });
    const talker = await pod('talker');
    expect(talker && isRunning(talker)).toBe(true);
    await nodeIs('has memory again', (node) => condition(node, 'MemoryPressure') === 'False');
  });

  test('ends its pods before it is switched off, and starts its static pods afterwards', async () => {
    const first = `first-${NODE}`;
    const before = await podIs(first, 'runs', isRunning);
    await machine.shell('systemctl reboot --no-block');
    await machine.off();
    expect(await podIs('talker', 'has ended', (one) => one.status?.reason === 'Terminated')).toMatchObject({
      status: { phase: 'Failed', message: expect.stringContaining('shutdown') },
    });
    await machine.boot();
    await nodeIs('is ready', (node) => condition(node, 'Ready') === 'True');
    const after = await podIs(
      first,
      'runs again',
      (one) => isRunning(one) && startOf(one) !== startOf(before),
    );
    expect(after.status?.containerStatuses?.[0]?.restartCount).toBe(1);
    expect(await machine.shell('statelet pods')).toMatch(/first\S*\s+1\/1\s+Running\s+1/);
  });
});

const startOf = (pod: Pod | undefined) => pod?.status?.containerStatuses?.[0]?.state?.running?.startedAt;

/** The control plane listens on loopback: this lets the machine reach it. */
async function serveAt(address: string, { server }: ControlPlane): Promise<() => void> {
  const port = Number(new URL(server).port);
  const front = createServer((socket) => {
    const back = connect(port, '127.0.0.1');
    const end = () => {
      socket.destroy();
      back.destroy();
    };
    socket.on('error', end).on('close', end).pipe(back);
    back.on('error', end).on('close', end).pipe(socket);
  });
  await new Promise<void>((resolve, reject) => {
    front.once('error', reject).listen(port, address, resolve);
  });
  return () => front.close();
}
