import { beforeEach, expect, test } from '@jest/globals';
import { PullSecretReader } from '../../../src/runtime/images/pull-secret-reader.ts';
import type { Pod, Secret } from '../../../src/types/kubernetes.ts';
import { podOf } from './image-bed.ts';

const NEVER = new AbortController().signal;
let secrets: Map<string, Secret | Error>;
let events: string[];

beforeEach(() => {
  secrets = new Map();
  events = [];
});

const reader = () =>
  new PullSecretReader(
    {
      secret: (namespace, name) => {
        const found = secrets.get(`${namespace}/${name}`);
        return found instanceof Error ? Promise.reject(found) : Promise.resolve(found);
      },
    },
    { event: (pod, type, reason, message) => void events.push(`${pod.uid}: ${type} ${reason} ${message}`) },
  );
const podWith = (...names: string[]): Pod => {
  const pod = podOf('pod');
  return { ...pod, spec: { ...pod.spec, imagePullSecrets: names.map((name) => ({ name })) } };
};
const add = (name: string, content: unknown) =>
  void secrets.set(`default/${name}`, {
    metadata: { name, namespace: 'default', uid: `uid of ${name}` },
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': Buffer.from(JSON.stringify(content)).toString('base64') },
  });

test('credentials have the Secret that they are from, and the hash that the kubelet records', async () => {
  add('good', { auths: { 'quay.io': { username: 'puller', password: 'se<c>ret', email: 'x@y' } } });
  const [found] = await reader().read(podWith('good'), NEVER);
  expect(found?.source).toEqual({
    secret: {
      uid: 'uid of good',
      namespace: 'default',
      name: 'good',
      // As the kubelet 1.36.2 has written it for these credentials.
      credentialHash: '464ebdf96ffcd2f7a3501e6841e39d2e1f4cbd181eb2b9ec3ef3203c5fa1b97b',
    },
  });
  expect(events).toEqual([]);
});

test('Secrets that are missing or not to be had are told in one event, and the others are used', async () => {
  add('good', { auths: { 'quay.io': { username: 'me' } } });
  secrets.set('default/away', new Error('the server does not answer'));
  const found = await reader().read(podWith('none', 'good', 'away'), NEVER);
  expect(found).toHaveLength(1);
  expect(events).toEqual([
    'pod: Warning FailedToRetrieveImagePullSecret Unable to retrieve some image pull secrets (none, away); attempting to pull the image may not succeed.',
  ]);
});

test('a malformed Secret is told without its content', async () => {
  add('bad', { auths: { 'quay.io': { auth: 'hush!' }, 'gcr.io': { username: 'me' } } });
  expect(await reader().read(podWith('bad'), NEVER)).toHaveLength(1);
  expect(events).toEqual([
    'pod: Warning FailedToRetrieveImagePullSecret Unable to use image pull secret bad: .dockerconfigjson: auths["quay.io"].auth: must be base64 of USER:PASSWORD; attempting to pull the image may not succeed.',
  ]);
});

test('a pod that does not wait any more is let go', async () => {
  const never = new PullSecretReader(
    { secret: () => new Promise(() => undefined) },
    { event: () => undefined },
  );
  const abort = new AbortController();
  const reading = never.read(podWith('a'), abort.signal);
  abort.abort(new Error('deleted'));
  await expect(reading).rejects.toThrow('deleted');
});

test('a pod without Secrets asks for none', async () => {
  expect(await reader().read(podOf('pod'), NEVER)).toEqual([]);
});
