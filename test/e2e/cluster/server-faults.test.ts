/** What a node sends to an API server that is away, or answers badly. The runtime is the embedded one. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Node, Pod } from '../../../src/types/kubernetes.ts';
import { type ApiFault, ApiFaultProxy } from '../../support/api/fault-proxy.ts';
import { describeOnControlPlane } from '../../support/control-plane.ts';
import { DaemonBed, type LogLine, NODE_NAME } from '../../support/daemon.ts';
import { waitFor } from '../../support/wait-for.ts';
import { awaitFile, manifest, SERVE, shell, touch } from '../manifests.ts';

describeOnControlPlane('a node whose API server fails', { nodeName: NODE_NAME }, (controlPlane) => {
  let bed: DaemonBed;
  let proxy: ApiFaultProxy;

  beforeEach(async () => {
    bed = new DaemonBed();
    proxy = await new ApiFaultProxy(controlPlane).open();
  });
  afterEach(async () => {
    await bed.cleanUp();
    await proxy.close();
    await controlPlane.kubectl('delete', 'pods,nodes', '--all', '--force', '--grace-period=0');
  });

  const start = () => bed.start('--kubeconfig', proxy.kubeconfig(), '--node-ip', controlPlane.nodeIp);

  const podOf = (name: string, script: string) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: {
      nodeName: NODE_NAME,
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'main', image: 'x', command: ['sh', '-c', script] }],
    },
  });

  /** The pod at the API, as soon as it matches. */
  function told(name: string, what: string, isWanted: (pod: Pod) => boolean): Promise<Pod> {
    const look = async () => {
      const pods = await controlPlane.kubectlJson<{ items: Pod[] }>('get', 'pods');
      return pods.items.find((pod) => pod.metadata.name === name && isWanted(pod));
    };
    return waitFor(look, { what: `${name} to be ${what}`, pauseMs: 200 });
  }
  const isReady = ({ status }: Pod) =>
    status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;

  /** How often the status of the pod was written, as the requests show. */
  const statusWrites = (name: string) =>
    proxy.seen({ method: 'PATCH', path: new RegExp(`/pods/${name}/status$`, 'u') }).length;

  test('away since its start: static pods run, and are told when the server is there', async () => {
    await proxy.close();
    const fields = { containers: [shell(SERVE, { image: 'x' })] };
    writeFileSync(join(bed.manifestDir, 'static.yaml'), manifest('static', fields));
    const daemon = await start();
    await daemon.running('static');
    await proxy.open();
    const mirror = await told(`static-${NODE_NAME}`, 'ready', isReady);
    expect(mirror.metadata.annotations?.['kubernetes.io/config.mirror']).toBeDefined();
    const node = await controlPlane.kubectlJson<Node>('get', 'node', NODE_NAME);
    expect(node.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Ready', status: 'True' }),
    );
  });

  /** Its first run ends when the file is there, and the next one stays. */
  const endingOnce = (file: string) =>
    `if [ -e ${file}.seen ]; then ${SERVE}; fi; touch ${file}.seen; ${awaitFile(file)}`;
  const hasRestarted = (pod: Pod) => isReady(pod) && pod.status?.containerStatuses?.[0]?.restartCount === 1;

  test('away for a while: running pods go on and restart, and one write tells what changed', async () => {
    const daemon = await start();
    const end = join(bed.dir, 'end');
    await controlPlane.apply(podOf('changing', endingOnce(end)), podOf('calm', SERVE));
    await told('changing', 'ready', isReady);
    await told('calm', 'ready', isReady);
    await proxy.close();
    const before = [statusWrites('changing'), statusWrites('calm')];
    await daemon.warning('API server: no answer');
    touch(end);
    const isRestart = (line: LogLine) =>
      line.pod === 'default/changing' && line.reason === 'Started' && line.attempt === 1;
    await daemon.logged('the restart', isRestart);
    await proxy.open();
    await told('changing', 'told of its restart', hasRestarted);
    const after = [statusWrites('changing'), statusWrites('calm')];
    expect(after).toEqual([(before[0] ?? 0) + 1, before[1]]);
    await daemon.logged('the connection', ({ msg }) => msg.startsWith('API server: connected after'));
  });

  test.each<[what: string, begin: () => ApiFault]>([
    ['that answers 500', () => proxy.refuse({}, 500)],
    ['that answers 429', () => proxy.refuse({}, 429, { 'retry-after': '1' })],
    ['that answers half', () => proxy.halveAnswers({})],
    ['that carries out what it does not answer', () => proxy.loseAnswers({})],
    ['that takes two seconds for each answer', () => proxy.delay({}, 2000)],
  ])('%s: pods go on, and everything is told afterwards', async (_, begin) => {
    const daemon = await start();
    const end = join(bed.dir, 'end');
    await controlPlane.apply(podOf('changing', endingOnce(end)));
    await told('changing', 'ready', isReady);
    const fault = begin();
    proxy.cut();
    touch(end);
    const isRestart = (line: LogLine) =>
      line.pod === 'default/changing' && line.reason === 'Started' && line.attempt === 1;
    await daemon.logged('the restart', isRestart);
    await controlPlane.apply(podOf('late', SERVE));
    await fault.wasHit(5);
    fault.lift();
    await told('changing', 'told of its restart', hasRestarted);
    await told('late', 'ready', isReady);
    await controlPlane.kubectl('delete', 'pods', '--all', '--timeout=60s');
  });
});
