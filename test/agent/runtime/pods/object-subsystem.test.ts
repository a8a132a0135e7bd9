import { expect, test } from '@jest/globals';
import { commandResolver } from '../../../../src/agent/runtime/node/node-addresses.ts';
import { readServerFacts } from '../../../../src/agent/runtime/pods/object-subsystem.ts';
import type { ApiObjects, KnownServices } from '../../../../src/types/api-objects.ts';
import type { Container, Pod, Service } from '../../../../src/types/kubernetes.ts';
import { podOf } from '../../../support/pod-status-facts.ts';
import { runtimePodStatus } from '../../../support/runtime-pod-status.ts';

const API_SERVER: Service = {
  metadata: { name: 'kubernetes', namespace: 'default' },
  spec: { clusterIP: '10.96.0.1', ports: [{ name: 'https', port: 443 }] },
};
const container: Container = {
  name: 'main',
  envFrom: [{ configMapRef: { name: 'settings' } }, { secretRef: { name: 'login' } }],
  env: [
    { name: 'A', valueFrom: { configMapKeyRef: { name: 'settings', key: 'a' } } },
    { name: 'B', value: 'given', valueFrom: { secretKeyRef: { name: 'unread', key: 'b' } } },
  ],
};

/** Notes what it is asked for. */
function serverWith(known: KnownServices): ApiObjects & { readonly asked: string[] } {
  const asked: string[] = [];
  const note = (what: string) => {
    asked.push(what);
    return Promise.resolve(undefined);
  };
  return {
    asked,
    configMap: (namespace, name) => note(`configmap ${namespace}/${name}`),
    secret: (namespace, name) => note(`secret ${namespace}/${name}`),
    services: () => known,
  } as Partial<ApiObjects> as ApiObjects & { readonly asked: string[] };
}

test('each object that the variables refer to is requested once, in the namespace of the pod', async () => {
  const server = serverWith({ listed: true, services: [API_SERVER] });
  const { objects, services } = await readServerFacts(server, podOf({}), container);
  expect(server.asked).toEqual(['configmap shop/settings', 'secret shop/login']);
  expect(services?.services).toEqual([API_SERVER]);
  expect([...(objects?.configMaps ?? [])]).toEqual([['settings', undefined]]);
});

test('without an API server no object is known', async () => {
  expect(await readServerFacts(undefined, podOf({}), container)).toEqual({});
});

test('before services are listed a container waits and requests no object, but static pods start', async () => {
  const server = serverWith({ listed: false, services: [] });
  const resolve = (pod: Pod, asking: Container) =>
    commandResolver([], {}, server)(pod, asking, runtimePodStatus({}));
  const ofServer = podOf({ enableServiceLinks: true });
  await expect(resolve(ofServer, container)).rejects.toMatchObject({
    kind: 'FailedPrecondition',
    message: 'services have not yet been read at least once, cannot construct envvars',
  });
  expect(server.asked).toEqual([]);
  const annotations = { 'kubernetes.io/config.source': 'file' };
  const isStatic = podOf({ enableServiceLinks: true }, { metadata: { ...ofServer.metadata, annotations } });
  expect(await resolve(isStatic, { name: 'main' })).toEqual({ command: [], args: [], envs: [] });
});

test('plain processes find the services too', async () => {
  const server = serverWith({ listed: true, services: [API_SERVER] });
  const pod = podOf({ enableServiceLinks: false });
  const asking = { name: 'main', args: ['$(KUBERNETES_SERVICE_HOST)'] };
  const { args, envs } = await commandResolver([], {}, server)(pod, asking, runtimePodStatus({}));
  expect(args).toEqual(['10.96.0.1']);
  expect(envs).toContainEqual({ key: 'KUBERNETES_SERVICE_PORT_HTTPS', value: '443' });
});
