import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { chosenContainer, chosenPod, parsePodName } from '../../../src/commands/client/chosen-pod.ts';
import { withDaemon } from '../../../src/commands/client/daemon-connection.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { type OwnerSocket, ownerSocket, podOnNode } from '../../support/owner-socket.ts';

test.each([
  ['web', {}, { namespace: undefined, name: 'web' }],
  ['pod/web', {}, { namespace: undefined, name: 'web' }],
  ['pods/web', { namespace: 'a' }, { namespace: 'a', name: 'web' }],
  ['kube-system/web', {}, { namespace: 'kube-system', name: 'web' }],
  ['pod/kube-system/web', {}, { namespace: 'kube-system', name: 'web' }],
  ['a/web', { namespace: 'a' }, { namespace: 'a', name: 'web' }],
])('%s names a pod', (text, flags, name) => {
  expect(parsePodName(text, flags)).toEqual(name);
});

test.each(['', '/', 'a/', '/b', 'a/b/c'])('"%s" names no pod', (text) => {
  expect(() => parsePodName(text)).toThrow('POD, pod/POD or NAMESPACE/POD is expected');
});

test('two namespaces are an error', () => {
  expect(() => parsePodName('a/web', { namespace: 'b' })).toThrow(
    '"a/web" is not in the namespace of --namespace, b',
  );
});

describe('a pod of a daemon', () => {
  let socket: OwnerSocket;
  beforeEach(async () => {
    socket = await ownerSocket([], [podOnNode('web'), podOnNode('proxy', 'kube-system')]);
  });
  afterEach(async () => socket.close());

  const find = (text: string, namespace?: string) =>
    withDaemon(socket, (daemon) => chosenPod(daemon, text, namespace === undefined ? {} : { namespace }));

  test('is found by its name, and without the name of its node', async () => {
    expect((await find('web-node-a')).metadata.uid).toBe('uid-web');
    expect((await find('web')).metadata.uid).toBe('uid-web');
    expect((await find('kube-system/proxy')).metadata.uid).toBe('uid-proxy');
    expect((await find('proxy', 'kube-system')).metadata.uid).toBe('uid-proxy');
  });

  test('of another namespace is not found, and the message says where it is', async () => {
    await expect(find('proxy')).rejects.toMatchObject({
      kind: 'NotFound',
      message:
        'there is no pod "proxy" in namespace default; there is one in namespace kube-system: give --namespace kube-system',
    });
    await expect(find('deploy/web')).rejects.toThrow(
      'there is no pod deploy/web; a node has only pods: name one, or choose them by their labels with -l',
    );
    await expect(find('we')).rejects.toThrow(
      'there is no pod "we" in namespace default; "statelet pods" lists the pods',
    );
  });
});

describe('the container', () => {
  const two: Pod = podOnNode('web', 'default', {
    containers: [{ name: 'main' }, { name: 'side' }],
    initContainers: [{ name: 'init' }],
  });
  const chosen = (pod: Pod, name?: string) => {
    const told: string[] = [];
    return { name: chosenContainer(pod, name, (line) => told.push(line)), told };
  };

  test("is the first where none is named, with kubectl's message", () => {
    expect(chosen(two)).toEqual({
      name: 'main',
      told: ['Defaulted container "main" out of: main, side, init (init)'],
    });
    expect(chosen(podOnNode('web'))).toEqual({ name: 'main', told: [] });
  });

  test('is the one that the pod names in its annotation', () => {
    const annotations = { 'kubectl.kubernetes.io/default-container': 'side' };
    expect(chosen({ ...two, metadata: { ...two.metadata, annotations } })).toEqual({
      name: 'side',
      told: [],
    });
  });

  test('that is named must be there', () => {
    expect(chosen(two, 'init')).toEqual({ name: 'init', told: [] });
    expect(() => chosen(two, 'nope')).toThrow(
      'pod web-node-a has no container "nope"; it has: main, side, init',
    );
  });
});
