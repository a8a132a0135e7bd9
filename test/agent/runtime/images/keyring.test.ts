import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { parseImageReference } from '../../../../src/agent/policies/images/image-reference.ts';
import { createKeyring, PullSecretReader } from '../../../../src/agent/runtime/images/keyring.ts';
import type { Pod, Secret } from '../../../../src/types/kubernetes.ts';
import { podOf } from './image-bed.ts';
import { testContext, recorderOf } from '../../../support/test-context.ts';
import { silentLogger } from '../../../support/silent-logger.ts';

describe('keyring', () => {
  let dir: string;
  let warnings: string[];

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'statelet-keyring-'));
    warnings = [];
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  const folder = (name: string) => join(dir, name);
  const newKeyring = () =>
    createKeyring(
      testContext({
        logger: {
          ...silentLogger,
          warn: (fields, message) => void warnings.push(`${JSON.stringify(fields)} ${message}`),
        },
      }),
      {
        rootDir: folder('root'),
        workingDir: folder('work'),
        homeDir: folder('home'),
        systemDir: folder('system'),
      },
    );
  const write = (name: string, text: string) => {
    mkdirSync(dirname(folder(name)), { recursive: true });
    writeFileSync(folder(name), text);
  };
  const entries = (username: string) => ({ 'quay.io': { username, password: 'hush' } });
  const auths = (username: string) => JSON.stringify({ auths: entries(username) });
  const user = async (keyring = newKeyring()) => {
    const [auth] = await keyring.lookup(parseImageReference('quay.io/app:1'));
    return auth?.username;
  };

  test('the first file in the folders of the kubelet is used', async () => {
    const places = [
      'root/config.json',
      'work/config.json',
      'home/.docker/config.json',
      'system/.docker/config.json',
      'root/.dockercfg',
      'work/.dockercfg',
      'home/.dockercfg',
      'system/.dockercfg',
      'root/.dockerconfigjson',
    ];
    for (const place of places) {
      write(place, place.endsWith('.dockercfg') ? JSON.stringify(entries(place)) : auths(place));
    }
    for (const place of places) {
      expect(await user()).toBe(place);
      rmSync(folder(place));
    }
    expect(await user()).toBeUndefined();
    expect(warnings).toEqual([]);
  });

  test('only one file is used: a registry that is missing in it is not searched in the next file', async () => {
    write('root/config.json', JSON.stringify({ auths: { 'gcr.io': { username: 'me' } } }));
    write('home/.docker/config.json', auths('home'));
    expect(await user()).toBeUndefined();
  });

  test('a file of the same name with other content is skipped', async () => {
    write('work/config.json', '{"port": 80}');
    write('home/.docker/config.json', auths('home'));
    expect(await user()).toBe('home');
    expect(warnings).toEqual([]);
  });

  test('a file is read again after it was changed, created or removed', async () => {
    const keyring = newKeyring();
    expect(await user(keyring)).toBeUndefined();
    write('home/.docker/config.json', auths('home'));
    expect(await user(keyring)).toBe('home');
    write('home/.docker/config.json', auths('home, later'));
    expect(await user(keyring)).toBe('home, later');
    write('root/config.json', auths('root'));
    expect(await user(keyring)).toBe('root');
    rmSync(folder('root/config.json'));
    expect(await user(keyring)).toBe('home, later');
  });

  test('lookups at the same moment get the same answer', async () => {
    write('root/config.json', auths('root'));
    const keyring = newKeyring();
    expect(await Promise.all([user(keyring), user(keyring)])).toEqual(['root', 'root']);
  });

  test('a file that is not JSON is named in a warning, once for each version and without any of its content', async () => {
    write('root/config.json', '{"auths": {"quay.io": {"password": "hush');
    write('home/.docker/config.json', auths('home'));
    const keyring = newKeyring();
    expect([await user(keyring), await user(keyring)]).toEqual(['home', 'home']);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(`${folder('root/config.json')}: it is not valid JSON`);
    write('root/config.json', 'hush, a longer one');
    await user(keyring);
    expect(warnings).toHaveLength(2);
    expect(warnings.join()).not.toContain('hush');
  });

  test('a file that cannot be read is named in a warning', async () => {
    mkdirSync(folder('root/config.json'), { recursive: true });
    expect(await user()).toBeUndefined();
    expect(warnings).toEqual([expect.stringContaining('it cannot be read (is not a file but a folder')]);
  });

  test('entries that cannot be used are named, the others are used', async () => {
    const config = { auths: { ...entries('me'), 'gcr.io': { auth: 'hush' } }, credsStore: 'pass' };
    write('root/config.json', JSON.stringify(config));
    expect(await user()).toBe('me');
    expect(warnings).toEqual([
      expect.stringContaining('credsStore: credential helpers are not run'),
      expect.stringContaining('auths["gcr.io"].auth: must be base64'),
    ]);
    expect(warnings.join()).not.toContain('hush');
  });
});

describe('pull secret reader', () => {
  const NEVER = new AbortController().signal;
  let secrets: Map<string, Secret | Error>;
  let events: string[];

  beforeEach(() => {
    secrets = new Map();
    events = [];
  });

  const reader = () =>
    new PullSecretReader(
      testContext({
        recorder: recorderOf({
          event: (pod, type, reason, message) => void events.push(`${pod.uid}: ${type} ${reason} ${message}`),
        }),
      }),
      {
        secret: (namespace, name) => {
          const found = secrets.get(`${namespace}/${name}`);
          return found instanceof Error ? Promise.reject(found) : Promise.resolve(found);
        },
      },
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

  test('Secrets that are missing or cannot be read are named in one event, and the others are used', async () => {
    add('good', { auths: { 'quay.io': { username: 'me' } } });
    secrets.set('default/away', new Error('the server does not answer'));
    const found = await reader().read(podWith('none', 'good', 'away'), NEVER);
    expect(found).toHaveLength(1);
    expect(events).toEqual([
      'pod: Warning FailedToRetrieveImagePullSecret Unable to retrieve some image pull secrets (none, away); attempting to pull the image may not succeed.',
    ]);
  });

  test('a malformed Secret is reported without its content', async () => {
    add('bad', { auths: { 'quay.io': { auth: 'hush!' }, 'gcr.io': { username: 'me' } } });
    expect(await reader().read(podWith('bad'), NEVER)).toHaveLength(1);
    expect(events).toEqual([
      'pod: Warning FailedToRetrieveImagePullSecret Unable to use image pull secret bad: .dockerconfigjson: auths["quay.io"].auth: must be base64 of USER:PASSWORD; attempting to pull the image may not succeed.',
    ]);
  });

  test('a pod that does not wait any more gets no credentials, but an error', async () => {
    const never = new PullSecretReader(testContext(), { secret: () => new Promise(() => undefined) });
    const abort = new AbortController();
    const reading = never.read(podWith('a'), abort.signal);
    abort.abort(new Error('deleted'));
    await expect(reading).rejects.toThrow('deleted');
  });

  test('a pod without Secrets leads to no request', async () => {
    expect(await reader().read(podOf('pod'), NEVER)).toEqual([]);
  });
});
