import { describe, expect, test } from '@jest/globals';
import { settled } from '../../../src/simulation/node/virtual-clock.ts';
import { imageBed, refusal } from './image-bed.ts';

describe('credentials', () => {
  const user = (username: string) => ({ username, password: 'p' });

  test('each that fits is tried until one works: those of the pod, then those of the node', async () => {
    const bed = imageBed({
      keyring: { lookup: ({ domain }) => Promise.resolve([user(`node at ${domain}`), user('spare')]) },
      pullSecrets: ({ metadata: { uid } }) =>
        Promise.resolve([
          { hostPattern: 'quay.io', port: '', pathPrefix: '', auth: user(`secret of ${uid}`) },
          { hostPattern: 'gcr.io', port: '', pathPrefix: '', auth: user('elsewhere') },
        ]),
    });
    const asking = bed.ensure('pod', { image: 'quay.io/app:1' });
    await settled();
    bed.pulls[0]?.fail('denied');
    await settled();
    bed.pulls[1]?.succeed();
    expect(await asking).toEqual({ imageRef: 'id of quay.io/app:1' });
    expect(bed.pulls.map(({ auth }) => auth?.username)).toEqual(['secret of pod', 'node at quay.io']);
  });

  test('when none works, all that was said is told', async () => {
    const bed = imageBed({ keyring: { lookup: () => Promise.resolve([user('a'), user('b')]) } });
    const asking = refusal(bed.ensure('pod', {}));
    await settled();
    bed.pulls[0]?.fail('denied');
    await settled();
    bed.pulls[1]?.fail('expired');
    expect(await asking).toMatchObject({ reason: 'ErrImagePull', message: '[denied, expired]' });
    expect(bed.pulls).toHaveLength(2);
  });

  test('without any the registry is asked as nobody', async () => {
    const bed = imageBed();
    const asking = bed.ensure('pod', {});
    await settled();
    bed.pulls[0]?.succeed();
    await asking;
    expect(bed.pulls[0]?.auth).toBeUndefined();
  });
});
