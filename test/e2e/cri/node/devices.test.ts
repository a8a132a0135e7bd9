/** Device plugins with containers of containerd: what a container gets, and what becomes of it when plugins and agents come and go. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, expect, test } from '@jest/globals';
import { LIST, LIST_ALPHA } from '../../../../src/agent/server/pod-resources/pod-resources-messages.ts';
import { GrpcClient } from '../../../../src/system/grpc/grpc-client.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { hasContainerd } from '../../../support/containerd/suite.ts';
import { describeOnBed } from '../../../support/cri-suite.ts';
import { containerStatus, type Daemon, startStatelet, statelet } from '../../../support/daemon.ts';
import {
  healthy,
  TestDevicePlugin,
  type TestDevicePluginOptions,
} from '../../../support/test-device-plugin.ts';

import { PluginServer } from '../../../support/plugin-server.ts';
import { PATIENCE_MS, waitFor } from '../../../support/wait-for.ts';

const GPU = 'example.com/gpu';

describeOnBed('device plugins', (bed) => {
  let daemon: Daemon;
  const restart = async (signal: NodeJS.Signals, meanwhile?: () => void) => {
    await daemon.end(signal);
    meanwhile?.();
    daemon = await bed.startToLeavePods();
  };
  const plugins: TestDevicePlugin[] = [];
  const open = (options: Partial<TestDevicePluginOptions> = {}) => {
    const folder = join(bed.rootDir, 'device-plugins');
    const plugin = new TestDevicePlugin({
      folder,
      resource: GPU,
      devices: healthy('gpu-0', 'gpu-1'),
      ...options,
    });
    plugins.push(plugin);
    return plugin;
  };
  const wants = (count: number, resource = GPU) => ({ resources: { limits: { [resource]: String(count) } } });
  const devicesOf = (pod: Pod) => containerStatus(pod)?.allocatedResourcesStatus?.[0]?.resources ?? [];
  const health = (name: string, wanted: string) =>
    daemon.until(name, `its device is ${wanted}`, (pod) => devicesOf(pod)[0]?.health === wanted);
  const checkpoint = () =>
    JSON.parse(readFileSync(join(bed.rootDir, 'device-plugins', 'kubelet_internal_checkpoint'), 'utf8')) as {
      Data: { PodDeviceEntries: readonly { ResourceName: string }[] | null; RegisteredDevices: object };
    };

  /** As a monitor is told. */
  const heldDevices = async (method: typeof LIST) => {
    const client = new GrpcClient('agent', join(bed.rootDir, 'pod-resources', 'kubelet.sock'));
    const { podResources } = await client.call(method, {}, AbortSignal.timeout(PATIENCE_MS));
    client.close();
    const all = podResources.flatMap(({ containers }) => containers.flatMap(({ devices }) => devices));
    return all.flatMap(({ deviceIDs }) => deviceIDs).toSorted();
  };

  beforeAll(async () => {
    daemon = await bed.startToLeavePods();
  });
  afterEach(() => {
    for (const plugin of plugins.splice(0)) plugin.kill();
  });

  test('a container has the variables, mounts and CDI devices of its plugin, the next pod other devices, and one too many waits; PodResources shows them', async () => {
    const proof = join(bed.dir, 'proof');
    writeFileSync(proof, 'mounted');
    const mounts = [{ containerPath: '/proof', hostPath: proof, readOnly: true }];
    const containerEdits = { env: ['CDI=injected'] };
    const spec = { cdiVersion: '0.5.0', kind: GPU, devices: [{ name: 'any', containerEdits }] };
    writeFileSync(join(bed.containerd.cdiDir, 'gpu.json'), JSON.stringify(spec));
    const cdiDevices = [{ name: `${GPU}=any` }];
    const plugin = open({ allocate: (ids) => ({ envs: { GPUS: ids.join() }, mounts, cdiDevices }) });
    await plugin.start();
    for (const name of ['first', 'second']) bed.apply(name, { containers: [bed.server(wants(1))] });
    const first = await daemon.running('first');
    const second = await daemon.running('second');
    const shown = await Promise.all(
      [first, second].map((pod) => bed.exec(pod, ['sh', '-c', 'echo $GPUS $CDI $(cat /proof)'])),
    );
    // An older containerd knows nothing of CDI.
    const injected = hasContainerd(2) ? 'injected ' : '';
    expect(shown.toSorted()).toEqual([`gpu-0 ${injected}mounted\n`, `gpu-1 ${injected}mounted\n`]);
    expect(devicesOf(first)).toEqual([{ resourceID: expect.stringMatching(/^gpu-/), health: 'Healthy' }]);
    expect(checkpoint().Data).toMatchObject({
      PodDeviceEntries: [{ ResourceName: GPU }, { ResourceName: GPU }],
      RegisteredDevices: { [GPU]: ['gpu-0', 'gpu-1'] },
    });
    for (const method of [LIST, LIST_ALPHA]) expect(await heldDevices(method)).toEqual(['gpu-0', 'gpu-1']);

    bed.apply('third', { containers: [bed.server(wants(1))] });
    await daemon.until('third', 'waiting', ({ status }) => status?.phase === 'Pending');
    expect((await statelet('why', 'third', '--root-dir', bed.rootDir)).stdout).toMatch(
      /waits for 1 example\.com\/gpu: both are held by default\/\S+ and default\/\S+\.\n/u,
    );
    bed.withdraw('first');
    expect(devicesOf(await daemon.running('third'))).toHaveLength(1);
    bed.withdraw('second');
    bed.withdraw('third');
    await daemon.onlyPods();
    expect(checkpoint().Data.PodDeviceEntries).toBeNull();
  });

  test('a pod runs on while its device is unhealthy, its plugin dies, and the agent starts again; the status says so; one that was withdrawn meanwhile has none', async () => {
    const plugin = open({ devices: healthy('gpu-0') });
    await plugin.start();
    bed.apply('steady', { containers: [bed.server(wants(1))] });
    const id = bed.idOf(await daemon.running('steady'));
    plugin.list([{ ID: 'gpu-0', health: 'Unhealthy' }]);
    await health('steady', 'Unhealthy');
    plugin.list(healthy('gpu-0'));
    await health('steady', 'Healthy');
    plugin.kill();
    await health('steady', 'Unknown');

    await restart('SIGKILL');
    expect(bed.idOf(await health('steady', 'Unknown'))).toBe(id);
    const again = open({ devices: healthy('gpu-0', 'gpu-1') });
    await again.start();
    expect(bed.idOf(await health('steady', 'Healthy'))).toBe(id);
    bed.apply('other', { containers: [bed.server(wants(1))] });
    expect(devicesOf(await daemon.running('other'))).toMatchObject([{ resourceID: 'gpu-1' }]);
    expect(again.allocated).toEqual([['gpu-1']]);

    await restart('SIGTERM', () => bed.withdraw('other'));
    await waitFor(() => !again.hasSocket, { what: 'its socket is removed' });
    await again.start();
    expect(bed.idOf(await health('steady', 'Healthy'))).toBe(id);
    const isAlone = () => checkpoint().Data.PodDeviceEntries?.length === 1;
    await waitFor(isAlone, { what: 'the other one to be forgotten' });
    bed.withdraw('steady');
    await daemon.onlyPods();
  });

  test('a plugin that refuses or hangs delays only its own pods, and is replaced by the next plugin, which the watcher of plugins finds', async () => {
    const hanging = open({ resource: 'example.com/slow', allocate: () => new Promise(() => undefined) });
    await hanging.start();
    const refusing = open({ allocate: () => Promise.reject(new Error('the GPU is on fire')) });
    await refusing.start();
    bed.apply('hung', { containers: [bed.server(wants(1, 'example.com/slow'))] });
    await waitFor(() => hanging.allocated.length > 0, { what: 'Allocate is called' });
    bed.apply('refused', { containers: [bed.server(wants(1))] });
    const refused = await daemon.logged('why the pod waits', ({ msg }) => msg.includes('the GPU is on fire'));
    expect(refused.msg).toContain('Allocate failed due to');
    const wait = /has waited since .+ for the device plugin of example\.com\/slow to answer Allocate/u;
    for (const command of [['why', 'hung'], ['pods']])
      expect((await statelet(...command, '--root-dir', bed.rootDir)).stdout).toMatch(wait);
    bed.apply('plain', { containers: [bed.server()] });
    await daemon.running('plain');

    const watch = startStatelet('get', 'pods', '-w', '-o', 'json', '--root-dir', bed.rootDir);
    let seen = '';
    watch.child.stdout?.on('data', (output: string) => (seen += output));
    const started: (readonly string[])[] = [];
    const mayStart = Promise.withResolvers<undefined>();
    const better = open({
      socket: 'better.sock',
      preStart: (ids) => {
        started.push(ids);
        return mayStart.promise;
      },
      prefer: (available) => available.slice(-1),
    });
    await better.listen();
    const info = { type: 'DevicePlugin', name: GPU, endpoint: better.path, supportedVersions: ['v1beta1'] };
    const found = join(bed.rootDir, 'plugins_registry', 'gpu.sock');
    const registrar = await PluginServer.start(
      { getInfo: () => info, notifyRegistrationStatus: () => ({}) },
      found,
    );
    const waits = `the device plugin of ${GPU} to answer PreStartContainer`;
    await waitFor(() => seen.includes(waits), { what: waits });
    watch.child.kill();
    mayStart.resolve(undefined);
    expect(devicesOf(await daemon.running('refused'))).toMatchObject([{ resourceID: 'gpu-1' }]);
    expect(started).toEqual([['gpu-1']]);
    registrar.stop();
    await health('refused', 'Unknown');
    for (const name of ['hung', 'refused', 'plain']) bed.withdraw(name);
    await daemon.onlyPods();
  });

  test('a program that is no device plugin of this version gets the reason of its refusal', async () => {
    const plugin = open();
    await plugin.listen();
    await expect(plugin.register({ version: 'v1alpha' })).rejects.toThrow(
      'requested API version "v1alpha" is not supported by kubelet. Supported version is "v1beta1"',
    );
    await expect(plugin.register({ resourceName: 'cpu' })).rejects.toThrow(
      'the ResourceName "cpu" is invalid',
    );
    await expect(plugin.register({ endpoint: '../x' })).rejects.toThrow('is not the name of a socket');
    plugin.kill();
    await expect(plugin.register()).rejects.toThrow(/ENOENT|ECONNREFUSED/u);
  });
});
