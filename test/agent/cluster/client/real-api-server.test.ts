/** The client, with a real API server. What the API server answers to requests of a node is not ours to decide. */
import { afterEach, expect, test } from '@jest/globals';
import { firstValueFrom, type Observable, ReplaySubject, takeWhile, toArray } from 'rxjs';
import type { PingOptions } from '../../../../src/agent/cluster/client/http2-connection.ts';
import { openApiClients } from '../../../../src/agent/cluster/client/open-api-clients.ts';
import type { ConnectionDetails, WatchEvent } from '../../../../src/agent/cluster/service/api-server.ts';
import type { Lease, Node, Pod } from '../../../../src/types/kubernetes.ts';
import { FixedCredentials } from '../../../support/api/fixed-credentials.ts';
import { ObservedConnection } from '../../../support/api/observed-connection.ts';
import { describeOnControlPlane } from '../../../support/control-plane.ts';

describeOnControlPlane('the client of a real API server', (controlPlane) => {
  const opened: { close(): void }[] = [];
  afterEach(() => {
    for (const clients of opened.splice(0)) clients.close();
  });

  function open(details: ConnectionDetails = controlPlane.details(), pings: Partial<PingOptions> = {}) {
    const credentials = new FixedCredentials(details);
    const observer = new ObservedConnection();
    const clients = openApiClients(credentials, observer, {
      userAgent: 'statelet/test',
      ...pings,
    });
    opened.push(clients);
    return { ...clients, credentials, observer };
  }

  const ours = () => ({ resource: 'nodes', name: controlPlane.nodeName }) as const;
  const podOf = (name: string) => ({
    metadata: { name },
    spec: { nodeName: controlPlane.nodeName, containers: [{ name: 'main', image: 'x' }] },
  });
  const ofNode = () => ({ fieldSelector: `spec.nodeName=${controlPlane.nodeName}` });
  const pods = { resource: 'pods', namespace: 'default' } as const;

  /** The events of a watch that has begun. */
  function begun<T>(watch: Observable<T>): ReplaySubject<T> {
    const events = new ReplaySubject<T>();
    watch.subscribe(events);
    return events;
  }

  test('creates, gets, updates, patches and deletes', async () => {
    const { main, observer } = open();
    const node = await main.create<Node>(
      { resource: 'nodes' },
      { metadata: { name: controlPlane.nodeName } },
    );
    expect(node.metadata.uid).toBeDefined();
    expect(await main.get<Node>(ours())).toMatchObject({ metadata: { uid: node.metadata.uid } });
    const status = { conditions: [{ type: 'Ready', status: 'True' }] };
    const patched = await main.patch<Node>({ ...ours(), subresource: 'status' }, { status });
    expect(patched.status?.conditions).toMatchObject(status.conditions);

    const leases = { resource: 'leases', namespace: 'kube-node-lease' } as const;
    const lease = await main.create<Lease>(leases, {
      metadata: { name: controlPlane.nodeName },
      spec: { holderIdentity: 'somebody' },
    });
    const target = { ...leases, name: controlPlane.nodeName };
    await main.update<Lease>(target, { ...lease, spec: { holderIdentity: controlPlane.nodeName } });
    expect(await main.get<Lease>(target)).toMatchObject({
      spec: { holderIdentity: controlPlane.nodeName },
    });
    await expect(main.update<Lease>(target, lease)).rejects.toMatchObject({
      status: 409,
      reason: 'Conflict',
    });
    await main.delete(target);
    await expect(main.get(target)).rejects.toMatchObject({ status: 404, reason: 'NotFound' });
    expect(new Set(observer.heard)).toEqual(new Set(['answered']));
  });

  test('an address with http:// to a port for TLS does not connect, and the error says how to fix it', async () => {
    const details = controlPlane.details();
    const { main, observer } = open({ ...details, server: details.server.replace(/^https:/u, 'http:') });
    const problem =
      /^GET \/api\/v1\/nodes\/node-1: the server answered 400: Client sent an HTTP request to an HTTPS server.*https:\/\/$/u;
    await expect(main.get<Node>(ours())).rejects.toMatchObject({
      kind: 'Unavailable',
      message: expect.stringMatching(problem),
    });
    expect(observer.heard).toEqual([expect.stringMatching(/^failed: GET /u)]);
  });

  test('deletes with a grace period, and only the object with the UID', async () => {
    await controlPlane.apply({ apiVersion: 'v1', kind: 'Pod', ...podOf('deleted') });
    const { main } = open();
    const target = { ...pods, name: 'deleted' };
    await expect(main.delete(target, { gracePeriodSeconds: 0, uid: 'another' })).rejects.toMatchObject({
      reason: 'Conflict',
    });
    const { metadata } = await main.get<Pod>(target);
    await main.delete(target, { gracePeriodSeconds: 0, uid: metadata.uid });
    // Of a pod that is gone the node authorizer knows no node any more.
    await expect(main.get(target)).rejects.toThrow(
      /no relationship found between node 'node-1' and this object/,
    );
  });

  test('lists and watches the pods of the node', async () => {
    const { main } = open();
    const { metadata } = await main.list<Pod>({ resource: 'pods' }, ofNode());
    const watch = { ...ofNode(), ...metadata, timeoutSeconds: 300 };
    const events = begun(main.watch<Pod>({ resource: 'pods' }, watch));
    await controlPlane.apply({ apiVersion: 'v1', kind: 'Pod', ...podOf('watched') });
    await controlPlane.kubectl('label', 'pod', 'watched', 'colour=blue');
    await controlPlane.kubectl('delete', 'pod', 'watched', '--grace-period=0', '--force');
    const isNotLast = ({ type }: WatchEvent<Pod>) => type !== 'DELETED';
    const told = await firstValueFrom(events.pipe(takeWhile(isNotLast, true), toArray()));
    expect(told[0]).toMatchObject({ type: 'ADDED', object: podOf('watched') });
    const blue = { metadata: { name: 'watched', labels: { colour: 'blue' } } };
    expect(told).toContainEqual(expect.objectContaining({ type: 'MODIFIED' }));
    expect(told.at(-1)).toMatchObject({ type: 'DELETED', object: blue });
    await expect(main.list({ resource: 'pods' })).rejects.toMatchObject({ reason: 'Forbidden' });
  });

  test('a watch completes when the server ends it', async () => {
    const { main } = open();
    const { metadata } = await main.list<Pod>({ resource: 'pods' }, ofNode());
    const watch = { ...ofNode(), ...metadata, timeoutSeconds: 1 };
    const events = main.watch<Pod>({ resource: 'pods' }, watch).pipe(toArray());
    await expect(firstValueFrom(events)).resolves.toBeDefined();
  });

  test('reports credentials that the server does not accept', async () => {
    const { server, ca = '' } = controlPlane.details();
    const { main, observer, credentials } = open({ server, ca, headers: { Authorization: 'Bearer wrong' } });
    await expect(main.get(ours())).rejects.toMatchObject({ status: 401, kind: 'Unauthenticated' });
    expect(observer.heard).toEqual(['unauthorized: Unauthorized']);
    expect(credentials.refusals).toBe(1);
  });

  test('does not speak to a server whose certificate it cannot verify', async () => {
    const { server } = controlPlane.details();
    const { main, observer } = open({ server, headers: {} });
    await expect(main.get(ours())).rejects.toThrow(/certificate/);
    expect(observer.heard).toEqual([expect.stringMatching(/^failed: GET .*certificate/)]);
  });

  test('uses other credentials at once, and lets watches be begun anew', async () => {
    controlPlane.addNode('node-2');
    const { main, credentials } = open();
    const { metadata } = await main.list<Pod>({ resource: 'pods' }, ofNode());
    const watch = { ...ofNode(), ...metadata, timeoutSeconds: 300 };
    const ended = begun(main.watch<Pod>({ resource: 'pods' }, watch)).pipe(toArray());
    await main.get(ours());
    const watched = firstValueFrom(ended);
    credentials.change(controlPlane.detailsOf(controlPlane.ca.filesOf('node-2')));
    await watched;
    await expect(
      main.get({ resource: 'leases', namespace: 'kube-node-lease', name: controlPlane.nodeName }),
    ).rejects.toThrow(/system:node:node-2/);
  });

  test('notices a server that does not answer any more, and works again after it is back', async () => {
    const { main, observer } = open(controlPlane.details(), { pingAfterMs: 200, pingTimeoutMs: 2000 });
    const { metadata } = await main.list<Pod>({ resource: 'pods' }, ofNode());
    const watch = { ...ofNode(), ...metadata, timeoutSeconds: 300 };
    const events = begun(main.watch<Pod>({ resource: 'pods' }, watch)).pipe(toArray());
    await main.get(ours());
    const watched = firstValueFrom(events);
    await controlPlane.apiServer.pause();
    await expect(watched).rejects.toThrow(/no answer to a ping in 2 s/);
    controlPlane.apiServer.resume();
    await main.get(ours());
    expect(observer.heard.at(-1)).toBe('answered');
  });

  test('notices a server that is gone, and works again after it is back', async () => {
    const { main, observer } = open();
    await main.get(ours());
    await controlPlane.apiServer.stop();
    await expect(main.get(ours())).rejects.toMatchObject({ kind: 'Unavailable' });
    await expect(main.get(ours())).rejects.toThrow(/ECONNREFUSED/);
    expect(observer.heard.at(-1)).toMatch(/^failed: GET \/api\/v1\/nodes\/node-1: connect ECONNREFUSED/);
    await controlPlane.apiServer.start();
    await main.get(ours());
    expect(observer.heard.at(-1)).toBe('answered');
  });
});
