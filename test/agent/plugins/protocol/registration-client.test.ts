import { afterEach, describe, expect, test } from '@jest/globals';
import {
  type RegistrationClient,
  registrationClient,
} from '../../../../src/agent/plugins/protocol/registration-client.ts';
import type { RegistrationStatus } from '../../../../src/agent/plugins/protocol/service-methods.ts';
import { type PluginAnswers, PluginServer } from '../../../support/plugin-server.ts';

const { signal } = new AbortController();
let server: PluginServer | undefined;
let client: RegistrationClient | undefined;
afterEach(() => {
  client?.close();
  server?.stop();
});

async function clientOf(answers: PluginAnswers): Promise<RegistrationClient> {
  server = await PluginServer.start(answers);
  return (client = registrationClient(server.socketPath));
}

describe('the registration of a plugin', () => {
  test('asks who it is', async () => {
    const info = { type: 'EvictionPlugin', name: 'rss', endpoint: '', supportedVersions: ['v1alpha1'] };
    const asking = await clientOf({ getInfo: () => info });
    expect(await asking.getInfo(signal)).toEqual(info);
  });

  test.each([
    { registered: true, error: '' },
    { registered: false, error: 'its version is not supported' },
  ])('tells it how that went: %o', async (told) => {
    let heard: RegistrationStatus | undefined;
    const asking = await clientOf({ notifyRegistrationStatus: (status) => (heard = status) });
    await asking.notifyRegistrationStatus(told, signal);
    expect(heard).toEqual(told);
  });

  test('what listens there does not know it', async () => {
    const asking = await clientOf({});
    await expect(asking.getInfo(signal)).rejects.toMatchObject({
      kind: 'Unimplemented',
      message: `plugin (${server?.socketPath}): GetInfo: not offered`,
    });
  });
});
