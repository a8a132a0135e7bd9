/** Events are served twice: in the core group, and as another view of the same objects in `events.k8s.io`. */
import { beforeAll, expect, test } from '@jest/globals';
import { describeOnControlPlane } from '../control-plane.ts';

const CORE = '/api/v1/namespaces/default/events';
const VIEW = '/apis/events.k8s.io/v1/namespaces/default/events';
const POD = { apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'web' };
const TIME = '2026-01-02T03:04:05Z';

describeOnControlPlane('events of events.k8s.io', (controlPlane) => {
  beforeAll(async () => {
    await controlPlane.apply(
      {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: 'first', namespace: 'default' },
        involvedObject: POD,
        ...{ type: 'Normal', reason: 'Started', message: 'Container started', count: 3 },
        source: { component: 'kubelet', host: 'node-1' },
        ...{ firstTimestamp: TIME, lastTimestamp: TIME },
      },
      {
        apiVersion: 'events.k8s.io/v1',
        kind: 'Event',
        metadata: { name: 'second', namespace: 'default' },
        regarding: { ...POD, name: 'other' },
        ...{ type: 'Warning', reason: 'Failed', note: 'it has failed', action: 'Starting' },
        ...{ reportingController: 'example.com/c', reportingInstance: 'c-1' },
        eventTime: '2026-01-02T03:04:05.000000Z',
      },
    );
  });

  test('show those that were made in the core group, under their own names', async () => {
    const event = await controlPlane.read(`${VIEW}/first`);
    expect(event).toMatchObject({
      kind: 'Event',
      apiVersion: 'events.k8s.io/v1',
      regarding: POD,
      note: 'Container started',
      deprecatedSource: { component: 'kubelet', host: 'node-1' },
      ...{ deprecatedFirstTimestamp: TIME, deprecatedLastTimestamp: TIME, deprecatedCount: 3 },
    });
    for (const name of ['message', 'involvedObject', 'source', 'count'])
      expect(event).not.toHaveProperty(name);
  });

  test('are shown in the core group under its names', async () => {
    const event = await controlPlane.read(`${CORE}/second`);
    expect(event).toMatchObject({
      apiVersion: 'v1',
      involvedObject: { ...POD, name: 'other' },
      ...{ message: 'it has failed', reportingComponent: 'example.com/c', reportingInstance: 'c-1' },
    });
    expect(event).not.toHaveProperty('note');
  });

  test('are listed and watched by what they regard', async () => {
    const query = 'fieldSelector=regarding.name%3Dother%2CreportingController%3Dexample.com%2Fc';
    const list = await controlPlane.read(`${VIEW}?${query}`);
    expect(list).toMatchObject({ kind: 'EventList', apiVersion: 'events.k8s.io/v1' });
    expect(list).toMatchObject({ items: [{ metadata: { name: 'second' }, note: 'it has failed' }] });
    const watched = await controlPlane.read(`${VIEW}?${query}&watch=1&resourceVersion=0&timeoutSeconds=1`);
    const object = { apiVersion: 'events.k8s.io/v1', metadata: { name: 'second' }, note: 'it has failed' };
    expect(watched).toMatchObject({ type: 'ADDED', object });
  });

  test('are not selected by names of the core group', async () => {
    await expect(controlPlane.read(`${VIEW}?fieldSelector=involvedObject.name%3Dweb`)).rejects.toThrow(
      'field label not supported: involvedObject.name',
    );
  });

  test('are rows for kubectl', async () => {
    const rows = await controlPlane.kubectl('get', 'events.events.k8s.io');
    expect(rows).toMatch(/^LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\n/u);
    expect(rows).toMatch(/Normal +Started +pod\/web +Container started/u);
    expect(rows).toMatch(/Warning +Failed +pod\/other +it has failed/u);
  });

  test('change with those of the core group, and are gone with them', async () => {
    await controlPlane.patch(`${VIEW}/second`, {
      series: { count: 2, lastObservedTime: '2026-01-02T03:05:05.000000Z' },
    });
    expect(await controlPlane.read(`${CORE}/second`)).toMatchObject({ series: { count: 2 } });
    await controlPlane.kubectl('delete', 'events.events.k8s.io', 'second');
    expect(await controlPlane.read(`${CORE}/second`)).toBeUndefined();
  });
});
