/** Mirror pods and events with a real API server, which decides what a node may do and what kubectl shows of it. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EventSender } from '../../../../src/agent/actors/cluster/event-sender.ts';
import { MirrorPods } from '../../../../src/agent/actors/cluster/mirror-pods.ts';
import { DesiredPods } from '../../../../src/agent/actors/pods/desired-pods.ts';
import { openApiClients } from '../../../../src/agent/cluster/client/open-api-clients.ts';
import type { ApiClients } from '../../../../src/agent/cluster/service/api-server.ts';
import { CONFIG_MIRROR_ANNOTATION } from '../../../../src/agent/policies/pod/pod-kinds.ts';
import { manifestPod } from '../../../../src/agent/sources/pod-of-manifest.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import type { CoreEvent, Node, Pod } from '../../../../src/types/kubernetes.ts';
import { FixedCredentials } from '../../../support/api/fixed-credentials.ts';
import { ObservedConnection } from '../../../support/api/observed-connection.ts';
import { describeOnControlPlane } from '../../../support/control-plane.ts';
import { type LogLine, recordingLogger } from '../../../support/recording-logger.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { testContext } from '../../../support/test-context.ts';

const warningsOf = (lines: readonly LogLine[]) =>
  lines.filter(({ level }) => level === 'warn').map(({ message }) => message);

describeOnControlPlane('mirror pods and events at a real API server', (controlPlane) => {
  let clients: ApiClients & { close(): void };
  /** A node may not list events. */
  let admin: ApiClients & { close(): void };
  let node: Node;
  beforeAll(async () => {
    [clients, admin] = (['node', 'admin'] as const).map((user) => {
      const credentials = new FixedCredentials(controlPlane.details(user));
      return openApiClients(credentials, new ObservedConnection(), { userAgent: 'statelet/test' });
    }) as unknown as [typeof clients, typeof admin];
    node = await clients.main.create<Node>(
      { resource: 'nodes' },
      { metadata: { name: controlPlane.nodeName } },
    );
  });
  afterAll(() => {
    clients.close();
    admin.close();
  });

  const manifest = (name: string, image: string, more: Partial<Pod['spec']> = {}) =>
    manifestPod(
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name },
        spec: { containers: [{ name: 'main', image }], ...more },
      },
      { source: 'file', location: `/etc/${name}.yaml`, nodeName: controlPlane.nodeName },
    );

  function openMirrors() {
    const { logger, lines } = recordingLogger();
    const desired = new DesiredPods();
    const mirrors = new MirrorPods(testContext({ clock: systemClock, logger }), {
      api: clients.main,
      desired,
      deleted: new Set(),
      nodeName: controlPlane.nodeName,
      node: () => node,
    });
    return { mirrors, desired, lines };
  }

  const mirrorAt = async (name: string) => {
    const { items } = await clients.main.list<Pod>(
      { resource: 'pods' },
      { fieldSelector: `spec.nodeName=${controlPlane.nodeName}` },
    );
    return items.find(({ metadata }) => metadata.name === `${name}-${controlPlane.nodeName}`);
  };
  const mirrorOfVersion = async (pod: Pod) => {
    const found = await waitFor(
      async () => {
        const mirror = await mirrorAt(pod.metadata.name.replace(`-${controlPlane.nodeName}`, ''));
        return mirror?.metadata.annotations?.[CONFIG_MIRROR_ANNOTATION] === pod.metadata.uid && mirror;
      },
      { what: 'the mirror pod' },
    );
    return found;
  };

  test('a mirror pod is created, created again for a new version, and deleted with its static pod', async () => {
    const { mirrors, desired, lines } = openMirrors();
    const first = manifest('web', 'a', { priorityClassName: 'system-node-critical', hostNetwork: true });
    desired.set(first);
    mirrors.reconcile(first);
    const mirror = await mirrorOfVersion(first);
    expect(mirror.metadata.uid).not.toBe(first.metadata.uid);
    expect(mirror.metadata.ownerReferences).toMatchObject([{ kind: 'Node', uid: node.metadata.uid }]);

    const second = manifest('web', 'b');
    desired.delete(first);
    desired.set(second);
    desired.set(mirror);
    mirrors.reconcile(second);
    const newer = await mirrorOfVersion(second);
    expect(newer.metadata.uid).not.toBe(mirror.metadata.uid);
    // The source `api` still shows the former one.
    mirrors.reconcile(second);

    desired.delete(second);
    desired.set(newer);
    await waitFor(
      async () => {
        mirrors.deleteOrphans(() => false);
        return (await mirrorAt('web')) === undefined;
      },
      { what: 'the end of the orphaned mirror pod' },
    );
    await mirrors.stop();
    expect(warningsOf(lines)).toEqual([]);
  });

  test('a static pod that the server refuses has no mirror pod, and the log has the reason', async () => {
    const { mirrors, desired, lines } = openMirrors();
    const pod = manifest('refused', 'a', { priority: 5 });
    desired.set(pod);
    mirrors.reconcile(pod);
    await waitFor(() => warningsOf(lines).some((line) => line.includes('priority')), { what: 'the refusal' });
    await mirrors.stop();
    expect(await mirrorAt('refused')).toBeUndefined();
  });

  function openEvents(podOf: (uid: string) => Pod | undefined = () => undefined) {
    const { logger, lines } = recordingLogger();
    const events = new EventSender(testContext({ clock: systemClock, logger }), {
      api: clients.events,
      nodeName: controlPlane.nodeName,
      nodeUID: () => node.metadata.uid,
      podOf,
      uuid: randomUUID,
    });
    return { events, lines };
  }

  const eventsAbout = async (name: string) => {
    const selector = `involvedObject.name=${name}`;
    return (await admin.main.list<CoreEvent>({ resource: 'events' }, { fieldSelector: selector })).items;
  };

  test('kubectl describe shows the events about a static pod with its mirror pod, and those about the node', async () => {
    const { mirrors, desired } = openMirrors();
    const pod = manifest('told', 'a', { initContainers: [{ name: 'setup', image: 'a' }] });
    desired.set(pod);
    mirrors.reconcile(pod);
    await mirrorOfVersion(pod);
    const { events, lines } = openEvents((uid) => desired.get(uid));
    events.event(pod.metadata, 'Normal', 'Started', 'Container started', { container: 'setup' });
    events.nodeEvent('Normal', 'Starting', 'Starting kubelet.');
    const describe = async (...what: string[]) =>
      (await controlPlane.kubectl('describe', ...what)).split('Events:').at(-1);
    await waitFor(
      async () => (await describe('node', controlPlane.nodeName))?.includes('Starting kubelet.'),
      {
        what: 'the event about the node',
      },
    );
    expect(await describe('pod', pod.metadata.name)).toMatch(
      /Normal +Started .* kubelet +.*Container started/,
    );
    const [started] = await eventsAbout(pod.metadata.name);
    expect(started).toMatchObject({
      involvedObject: { fieldPath: 'spec.initContainers{setup}', uid: pod.metadata.uid },
      source: { component: 'kubelet', host: controlPlane.nodeName },
      reportingComponent: 'kubelet',
      reportingInstance: controlPlane.nodeName,
    });
    await Promise.all([events.stop(), mirrors.stop()]);
    expect(warningsOf(lines)).toEqual([]);
  });

  test('an event that happens again is one object with a count, also after the server has lost it', async () => {
    const { events, lines } = openEvents();
    const pod = { name: 'counted', namespace: 'default', uid: 'uid-of-counted' };
    const tell = async (count: number) => {
      events.event(pod, 'Warning', 'BackOff', 'Back-off restarting failed container');
      const counts = async () => (await eventsAbout('counted')).map((event) => event.count);
      await waitFor(async () => (await counts()).includes(count), { what: `the count ${count}` });
      expect(await counts()).toEqual([count]);
    };
    await tell(1);
    await tell(2);
    await controlPlane.kubectl('delete', 'events', '--all');
    await tell(3);
    await events.stop();
    expect(warningsOf(lines)).toEqual([]);
  });

  test('an event in a namespace that does not exist is no warning, and delays no other event', async () => {
    const { events, lines } = openEvents();
    events.event({ name: 'lost', namespace: 'nowhere', uid: 'u' }, 'Normal', 'Killing', 'Stopping');
    events.event({ name: 'found', namespace: 'default', uid: 'v' }, 'Normal', 'Killing', 'Stopping');
    await waitFor(async () => (await eventsAbout('found')).length === 1, { what: 'the other event' });
    await events.stop();
    expect(warningsOf(lines)).toEqual([]);
  });
});
