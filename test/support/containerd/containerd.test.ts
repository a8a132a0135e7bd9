import { systemClock } from '../../../src/system/timer.ts';
import { testContext } from '../test-context.ts';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, expect, test } from '@jest/globals';
import { createCriRuntime } from '../../../src/agent/runtime/cri/cri-runtime.ts';
import type { RuntimeService } from '../../../src/agent/runtime/service/runtime-service.ts';
import type { PortMapping } from '../../../src/types/cri.ts';
import { type ContainerdBed, type ContainerdOptions, startContainerd } from './containerd.ts';
import { busyboxImage } from './images.ts';
import { layoutIn } from './layout.ts';
import { installPackages } from './packages.ts';
import { type Registry, startRegistry } from './registry.ts';
import { describeWithContainerd, SET_UP_TIMEOUT_MS } from './suite.ts';
import { mountsBelow, processesOf } from './wipe.ts';
import { podConfig } from '../runtime-configs.ts';
import { waitFor } from '../wait-for.ts';

describeWithContainerd('a containerd of a test', () => {
  const beds: ContainerdBed[] = [];
  const clients: RuntimeService[] = [];

  beforeAll(() => installPackages(), SET_UP_TIMEOUT_MS);
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
    for (const bed of beds.splice(0)) if (existsSync(bed.dir)) await bed.stop({ leftovers: 'remove' });
  });

  async function start(options: ContainerdOptions = {}): Promise<ContainerdBed> {
    const bed = await startContainerd(options);
    beds.push(bed);
    return bed;
  }

  /** Folders that ctr would otherwise create elsewhere. */
  const own = ({ dir }: ContainerdBed) => ['--runc-root', `${dir}/runc`, '--fifo-dir', `${dir}/fifo`];
  /** A container that was not created by CRI, in the namespace of CRI. */
  const runContainer = (bed: ContainerdBed, id: string, script = 'sleep 1000') =>
    bed.ctr('run', '--detach', ...own(bed), bed.image, id, 'sh', '-c', script);

  /** A pod with its own network, created by CRI. */
  function runPod(bed: ContainerdBed, name: string, portMappings: readonly PortMapping[] = []) {
    const client = createCriRuntime(testContext({ clock: systemClock }), {
      endpoint: bed.endpoint,
      requestTimeoutMs: 10_000,
    });
    clients.push(client);
    const config = podConfig(bed.dir, { portMappings });
    return client.runPodSandbox({ ...config, metadata: { ...config.metadata, name } });
  }

  const remains = (dir: string) => ({
    folder: existsSync(dir),
    processes: [...processesOf(dir, 'containerd'), ...processesOf(dir, 'containerd-shim')],
    mounts: mountsBelow(dir),
  });
  const NOTHING = { folder: false, processes: [], mounts: [] };

  test('has the standard images and the images of the test, and leaves nothing when the test has removed its pods', async () => {
    const bed = await start({ images: [busyboxImage('statelet.test/more:2')] });
    const images = await bed.ctr('images', 'list', '--quiet');
    for (const image of [bed.image, bed.pauseImage, 'statelet.test/more:2']) expect(images).toContain(image);
    await bed.stop();
    expect(remains(bed.dir)).toEqual(NOTHING);
  });

  test('reports at the end what the test has left, and removes it', async () => {
    const bed = await start();
    await runContainer(bed, 'forgotten');
    await expect(bed.stop()).rejects.toThrow(/left in the runtime: container forgotten/);
    expect(remains(bed.dir)).toEqual(NOTHING);
  });

  test('restarts after a kill while the containers keep running, and removes them in the end if the test allows it', async () => {
    const bed = await start();
    await runContainer(bed, 'survivor');
    const tasks = async () => /survivor\s+(\d+)\s+RUNNING/.exec(await bed.ctr('tasks', 'list'))?.[1];
    const before = await tasks();
    await bed.kill();
    expect(bed.pid).toBeUndefined();
    await expect(bed.ctr('tasks', 'list')).rejects.toThrow();
    await bed.restart();
    expect(before).toBeDefined();
    expect(await tasks()).toBe(before);
    await bed.kill();
    await bed.stop({ leftovers: 'remove' });
    expect(remains(bed.dir)).toEqual(NOTHING);
  });

  test('runs beside another containerd', async () => {
    const [one, other] = await Promise.all([start(), start()]);
    await Promise.all([runContainer(one, 'same-name'), runContainer(other, 'same-name')]);
    await one.stop({ leftovers: 'remove' });
    expect(await other.ctr('tasks', 'list')).toMatch(/same-name\s+\d+\s+RUNNING/);
  });

  test('can delay the network of one pod and no other, and removes the networks of remaining pods', async () => {
    const hostPort = 20_000 + (process.pid % 10_000);
    const bed = await start();
    bed.hold('held');
    let isUp = false;
    const held = runPod(bed, 'held').then(() => (isUp = true));
    await runPod(bed, 'other', [{ protocol: 'TCP', containerPort: 80, hostPort, hostIp: '' }]);
    expect(isUp).toBe(false);
    bed.release('held');
    expect(await held).toBe(true);
    const host = () =>
      ['iptables --wait --table nat --list-rules', 'ip link', 'ls /var/lib/cni/results']
        .map((command) => execFileSync('sh', ['-c', command], { encoding: 'utf8' }))
        .join('');
    const { network, bridge } = layoutIn(bed.dir);
    expect(host()).toContain(`${network}-`);
    expect(host()).toContain(`--dport ${hostPort}`);
    expect(host()).toContain(bridge);
    await bed.stop({ leftovers: 'remove' });
    expect(host()).not.toContain(network);
    expect(host()).not.toContain(`--dport ${hostPort}`);
    expect(host()).not.toContain(bridge);
  });

  test('is cleaned up when the test is killed', async () => {
    const module = fileURLToPath(new URL('./containerd.ts', import.meta.url));
    const script = `
      const { startContainerd } = await import(${JSON.stringify(module)});
      const bed = await startContainerd();
      await bed.ctr('run', '--detach', '--runc-root', bed.dir + '/runc', '--fifo-dir', bed.dir + '/fifo', bed.image, 'orphan', 'sleep', '1000');
      console.log(bed.dir);
      setInterval(() => undefined, 1000);`;
    const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', script];
    const dying = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const dir = await new Promise<string>((resolve) =>
      dying.stdout.once('data', (line: Buffer) => resolve(line.toString().trim())),
    );
    expect(processesOf(dir, 'containerd-shim')).toHaveLength(1);
    dying.kill('SIGKILL');
    await waitFor(() => !existsSync(dir), { what: 'the janitor to remove the folder' });
    expect(remains(dir)).toEqual(NOTHING);
  });

  test('pulls from a registry on loopback, with a password if the registry requires one', async () => {
    const bed = await start();
    const open = await startRegistry();
    const auth = { username: 'somebody', password: 'secret' };
    const closed = await startRegistry({ auth });
    try {
      await bed.ctr('images', 'pull', await open.push('open:1'));
      const ref = await closed.push('closed:1');
      const pull = (user: string) => bed.ctr('images', 'pull', '--plain-http', '--user', user, ref);
      await expect(pull('somebody:wrong')).rejects.toThrow(/401 Unauthorized/);
      await pull('somebody:secret');
      const logs = (registry: Registry, name: string, status: number) =>
        waitFor(() => registry.requests(name).includes(`HEAD /v2/${name}/manifests/1 ${status}`), {
          what: `the log of the registry to have the request for ${name}`,
        });
      await logs(open, 'open', 200);
      await logs(closed, 'closed', 401);
    } finally {
      await Promise.all([open.stop(), closed.stop()]);
    }
  });
});
