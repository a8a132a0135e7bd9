import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { firstValueFrom, ReplaySubject } from 'rxjs';
import { openApiClients } from '../../../src/agent/cluster/client/open-api-clients.ts';
import type { WatchEvent } from '../../../src/agent/cluster/service/api-server.ts';
import type { Lease } from '../../../src/types/kubernetes.ts';
import { describeOnControlPlane } from '../control-plane.ts';
import { ApiFaultProxy } from './fault-proxy.ts';
import { FixedCredentials } from './fixed-credentials.ts';
import { ObservedConnection } from './observed-connection.ts';

const LEASES = { resource: 'leases', namespace: 'kube-node-lease' } as const;

describeOnControlPlane('a proxy of faults before a real API server', (controlPlane) => {
  let proxy: ApiFaultProxy;
  let clients: ReturnType<typeof openApiClients>;
  const ours = () => ({ ...LEASES, name: controlPlane.nodeName });
  const lease = () => ({
    metadata: { name: controlPlane.nodeName },
    spec: { holderIdentity: controlPlane.nodeName },
  });

  beforeEach(async () => {
    proxy = await new ApiFaultProxy(controlPlane).open();
    const credentials = new FixedCredentials(proxy.details());
    clients = openApiClients(credentials, new ObservedConnection(), { userAgent: 'statelet/test' });
  });
  afterEach(async () => {
    clients.close();
    await proxy.close();
    await controlPlane.kubectl('--namespace=kube-node-lease', 'delete', 'leases', '--all');
  });

  test('passes requests and watches on as the node', async () => {
    const { main } = clients;
    const fieldSelector = 'spec.nodeName=node-1';
    const { metadata } = await main.list({ resource: 'pods' }, { fieldSelector });
    const events = new ReplaySubject<WatchEvent<object>>();
    main.watch({ resource: 'pods' }, { ...metadata, fieldSelector, timeoutSeconds: 60 }).subscribe(events);
    const spec = { nodeName: 'node-1', containers: [{ name: 'main', image: 'x' }] };
    await controlPlane.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec });
    expect((await firstValueFrom(events)).type).toBe('ADDED');
    expect(proxy.seen({ path: /watch=true/ })).toHaveLength(1);
    const asNode = controlPlane.kubectl('--kubeconfig', proxy.kubeconfig(), 'get', 'secrets');
    await expect(asNode).rejects.toThrow('User "system:node:node-1" cannot list');
  });

  test('refuses, holds and loses requests on demand', async () => {
    const { main } = clients;
    const refusal = proxy.refuse({ method: 'POST' }, 500);
    await expect(main.create<object>(LEASES, lease())).rejects.toMatchObject({ status: 500 });
    refusal.lift();
    const loss = proxy.loseAnswers({ method: 'POST', path: /leases/ });
    await expect(main.create<object>(LEASES, lease())).rejects.toMatchObject({ kind: 'Unavailable' });
    expect([refusal.hits, loss.hits]).toEqual([1, 1]);
    loss.lift();
    await expect(main.create<object>(LEASES, lease())).rejects.toMatchObject({ reason: 'AlreadyExists' });
    const half = proxy.halveAnswers({ method: 'GET' });
    await expect(main.get<Lease>(ours())).rejects.toMatchObject({ kind: 'Unavailable' });
    half.lift();
    const held = proxy.hold({ method: 'GET' });
    const got = main.get<Lease>(ours());
    await held.wasHit();
    held.release();
    expect(await got).toMatchObject(lease());
  });

  test('can be away, and is back at the same address', async () => {
    const { main } = clients;
    await main.create<object>(LEASES, lease());
    await proxy.close();
    await expect(main.get(ours())).rejects.toThrow(/ECONNREFUSED/);
    await proxy.open();
    await main.get(ours());
    proxy.cut();
    await main.get(ours());
  });
});
