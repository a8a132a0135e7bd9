/** The source api, with a real API server and the rights of a node. */
import { afterEach, expect, test } from '@jest/globals';
import { openApiClients } from '../../src/cluster/client/open-api-clients.ts';
import { RuntimeClassWatch } from '../../src/cluster/watches/runtime-class-watch.ts';
import { watchNode } from '../../src/cluster/watches/watched-object.ts';
import { runtimeClassesOf } from '../../src/policies/admission/runtime-class.ts';
import { apiSource } from '../../src/sources/api-source.ts';
import { podConfig, type PodConfigEvent } from '../../src/sources/pod-config.ts';
import { systemClock } from '../../src/system/system-clock.ts';
import { FixedCredentials } from '../support/api/fixed-credentials.ts';
import { ObservedConnection } from '../support/api/observed-connection.ts';
import { describeOnControlPlane } from '../support/control-plane.ts';
import { waitFor } from '../support/wait-for.ts';
import { Collector } from './support.ts';

const timing = { clock: systemClock, random: () => 0 };

describeOnControlPlane('the source api with a real API server', (controlPlane) => {
  const opened: { close(): void }[] = [];
  afterEach(() => {
    for (const each of opened.splice(0).reverse()) each.close();
  });

  function open() {
    const credentials = new FixedCredentials(controlPlane.details());
    const { main, close } = openApiClients(credentials, new ObservedConnection(), {
      userAgent: 'statelet/test',
      pingAfterMs: 200,
      pingTimeoutMs: 300,
    });
    opened.push({ close });
    return main;
  }

  /** What becomes of the pods of this node, each event as `OP NAME`. */
  function follow() {
    const api = open();
    const { nodeName } = controlPlane;
    const node = watchNode(api, nodeName, timing);
    const problems: string[] = [];
    const options = {
      now: () => Date.now(),
      onProblem: ({ message }: { message: string }) => problems.push(message),
    };
    const source = apiSource({ api, nodeName, node, ...timing });
    const events = new Collector(podConfig({ api: source }, options));
    opened.push(events);
    return { events, problems };
  }

  const pod = (name: string, more: object = {}) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', ...more },
    spec: { nodeName: controlPlane.nodeName, containers: [{ name: 'main', image: 'x' }] },
  });
  const briefly = (event: PodConfigEvent) =>
    'type' in event ? event.type : `${event.op} ${event.pods.map(({ metadata }) => metadata.name).join(' ')}`;
  const forced = ['--grace-period=0', '--force', '--wait=false'];

  test('hears of a pod from its creation to its end, before the node has an object', async () => {
    const { events, problems } = follow();
    expect(briefly(await events.next())).toBe('SOURCE_SEEN');

    await controlPlane.apply(pod('life'));
    const added = await events.next();
    expect(briefly(added)).toBe('ADD life');
    expect('pods' in added && added.pods[0]).toMatchObject({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { annotations: { 'kubernetes.io/config.source': 'api' } },
      spec: { restartPolicy: 'Always' },
    });

    await controlPlane.kubectl('label', 'pod', 'life', 'a=b');
    expect(briefly(await events.next())).toBe('UPDATE life');
    await controlPlane.kubectl('delete', 'pod', 'life', '--wait=false');
    const deleted = await events.next();
    expect(briefly(deleted)).toBe('DELETE life');
    expect('pods' in deleted && deleted.pods[0]?.metadata.deletionGracePeriodSeconds).toBe(30);
    await controlPlane.kubectl('delete', 'pod', 'life', ...forced);
    expect(briefly(await events.until((event) => briefly(event).startsWith('REMOVE')))).toBe('REMOVE life');
    expect(problems).toEqual([]);
  });

  test('removes nothing while the API server is away, and hears afterwards what has changed', async () => {
    await controlPlane.apply(pod('stays'), pod('replaced'));
    const { events, problems } = follow();
    expect(briefly(await events.next())).toMatch(/^ADD (stays replaced|replaced stays)$/);
    expect(briefly(await events.next())).toBe('SOURCE_SEEN');

    await controlPlane.apiServer.stop();
    await waitFor(() => problems.length > 0, { what: 'the source to notice that the server is away' });
    await controlPlane.apiServer.start();
    await controlPlane.kubectl('delete', 'pod', 'replaced', ...forced);
    await controlPlane.apply(pod('replaced', { labels: { again: 'yes' } }));
    const seen: string[] = [];
    while (!seen.some((text) => text.startsWith('ADD'))) seen.push(briefly(await events.next()));
    expect(seen.filter((text) => text.includes('stays'))).toEqual([]);
    expect(seen.at(-1)).toBe('ADD replaced');
    expect(seen).toContain('REMOVE replaced');
    await controlPlane.kubectl('delete', 'pod', 'stays', 'replaced', ...forced);
  });

  test('the RuntimeClasses of the cluster are known to the node', async () => {
    const watch = new RuntimeClassWatch(open(), runtimeClassesOf([]), timing);
    opened.push(watch);
    const metadata = { name: 'gvisor' };
    await controlPlane.apply({
      apiVersion: 'node.k8s.io/v1',
      kind: 'RuntimeClass',
      metadata,
      handler: 'runsc',
    });
    await waitFor(() => watch.handlers.get('gvisor') === 'runsc', { what: 'the RuntimeClass' });
  });
});
