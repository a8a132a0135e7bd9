/** One life of a node between two boots. Runs as the first program of a machine of its own; see reboot.test.ts. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { busyboxPod, KernelNode, reportOf } from '../../../support/kernel-node.ts';
import { DISK } from '../../../support/kernel-report.ts';

const MANIFESTS = `${DISK}/manifests`;
const isFirst = !existsSync(MANIFESTS);
const node = new KernelNode(DISK, { podLogsDir: `${DISK}/pods` });

/** Ends once in the first life, and runs for the rest of it. */
const SCRIPT = 'if [ -e /disk/ended ]; then exec sleep 1000; fi; touch /disk/ended; exit 3';
const VOLUME = { name: 'disk', mountPath: '/disk' };
const POD = busyboxPod(
  'web',
  SCRIPT,
  { volumeMounts: [VOLUME] },
  { volumes: [{ name: 'disk', hostPath: { path: `${DISK}/volume` } }] },
);

const statusOf = (pod: Pod | undefined) => pod?.status?.containerStatuses?.[0];

await reportOf(async () => {
  if (isFirst) {
    for (const folder of [MANIFESTS, `${DISK}/volume`]) mkdirSync(folder);
    writeFileSync(`${MANIFESTS}/web.json`, JSON.stringify(POD));
  }
  await node.startContainerd();
  node.startAgent('--pod-manifest-path', MANIFESTS);
  const least = isFirst ? 1 : 2;
  const isUp = (pod: Pod) =>
    statusOf(pod)?.state?.running !== undefined && (statusOf(pod)?.restartCount ?? 0) >= least;
  const pod = (await node.pods(1, 'a pod that runs', isUp)).get('web-node');
  return { uid: pod?.metadata.uid, startTime: pod?.status?.startTime, container: statusOf(pod) };
});
