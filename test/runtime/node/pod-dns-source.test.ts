import { expect, test } from '@jest/globals';
import { ResolvConf } from '../../../src/runtime/node/node-resolv-conf.ts';
import { PodDNSSource } from '../../../src/runtime/node/pod-dns-source.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';

const POD: Pod = {
  metadata: { uid: 'uid-web', name: 'web', namespace: 'default' },
  spec: { dnsPolicy: 'ClusterFirst', containers: [{ name: 'main', image: 'app:1' }] },
};

test('a pod that asks for a cluster DNS which the node has not is told so once, until it is forgotten', async () => {
  const events: string[] = [];
  const recorder = {
    event: (pod: { readonly name?: string }, type: string, reason: string) =>
      void events.push(`${pod.name} ${type} ${reason}`),
  };
  const source = new PodDNSSource({ clusterDNS: [], clusterDomain: '' }, new ResolvConf(''), recorder);
  expect(await source.of(POD)).toEqual({ clusterDNS: [], clusterDomain: '', resolvConf: undefined });
  await source.of(POD);
  expect(events).toEqual(['web Warning MissingClusterDNS']);
  source.forget('uid-web');
  await source.of(POD);
  expect(events).toHaveLength(2);
});
