import { describe, expect, test } from '@jest/globals';
import {
  accessWith,
  credentialsFrom,
  type CredentialSource,
  type ImagePulledRecord,
  type ImagePullSecret,
  readPulledRecord,
  readPullIntent,
  recordedAccess,
  recordWith,
} from '../../../../src/agent/policies/images/pulled-record.ts';

const NAME = 'quay.io/app';
const secret = (name: string, credentialHash = 'hash', uid = `uid of ${name}`): ImagePullSecret => ({
  uid,
  namespace: 'default',
  name,
  credentialHash,
});
const account = (name: string) => ({ uid: `uid of ${name}`, namespace: 'default', name });
const bySecret = (...args: Parameters<typeof secret>): CredentialSource => ({ secret: secret(...args) });
const byAccount = (name: string): CredentialSource => ({ serviceAccount: account(name) });

/** The record after pulls with credentials of these sources. */
function pulledWith(...sources: (CredentialSource | undefined)[]): ImagePulledRecord {
  let record: ImagePulledRecord | undefined;
  for (const [index, source] of sources.entries()) {
    const pulled = { imageRef: 'id', name: NAME, credentials: credentialsFrom(source), now: `time ${index}` };
    record = recordWith(record, pulled) ?? record;
  }
  return record!;
}

describe('a record', () => {
  test('has the Secret that the image was pulled with', () => {
    expect(pulledWith(bySecret('a'))).toEqual({
      kind: 'ImagePulledRecord',
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      lastUpdatedTime: 'time 0',
      imageRef: 'id',
      credentialMapping: { [NAME]: { kubernetesSecrets: [secret('a')] } },
    });
  });

  test('has all Secrets and service accounts, in their order', () => {
    const { credentialMapping } = pulledWith(bySecret('b'), byAccount('z'), bySecret('a'), byAccount('y'));
    expect(credentialMapping[NAME]).toEqual({
      kubernetesSecrets: [secret('a'), secret('b')],
      kubernetesServiceAccounts: [account('y'), account('z')],
    });
  });

  test('has the newest credentials of a Secret', () => {
    const { credentialMapping } = pulledWith(bySecret('a', 'old'), bySecret('a', 'new'));
    expect(credentialMapping[NAME]?.kubernetesSecrets).toEqual([secret('a', 'new')]);
  });

  test('of an image that was pulled without credentials has no Secrets, then and later', () => {
    const open = { [NAME]: { nodePodsAccessible: true } };
    expect(pulledWith(bySecret('a'), undefined).credentialMapping).toEqual(open);
    expect(pulledWith(undefined, bySecret('a')).credentialMapping).toEqual(open);
  });

  test('does not change where nothing is new', () => {
    expect(pulledWith(bySecret('a'), bySecret('a')).lastUpdatedTime).toBe('time 0');
  });

  test('of an unknown pull has no credentials', () => {
    const unknown = { imageRef: 'id', name: NAME, credentials: undefined, now: 'now' };
    expect(recordWith(undefined, unknown)?.credentialMapping).toEqual({});
    expect(recordWith(pulledWith(bySecret('a')), unknown)).toBeUndefined();
  });

  test('has other names of the same image as well', () => {
    const other = { imageRef: 'id', name: 'gcr.io/app', credentials: credentialsFrom(undefined), now: 'now' };
    expect(recordWith(pulledWith(bySecret('a')), other)?.credentialMapping).toEqual({
      [NAME]: { kubernetesSecrets: [secret('a')] },
      'gcr.io/app': { nodePodsAccessible: true },
    });
  });
});

describe('a pod may use the image', () => {
  const granted = (record: ImagePulledRecord, ...sources: (CredentialSource | undefined)[]) =>
    accessWith(record, NAME, sources);

  test.each([
    ['the same Secret', bySecret('a')],
    ['the same service account', byAccount('runner')],
  ])('with %s', (_what, source) => {
    expect(granted(pulledWith(source), undefined, source)).toEqual({ isGranted: true });
  });

  test('with the same credentials in another Secret, which is then recorded', () => {
    expect(granted(pulledWith(bySecret('a')), bySecret('b'))).toEqual({
      isGranted: true,
      learned: { kubernetesSecrets: [secret('b')] },
    });
  });

  test('with other credentials in the same Secret, which are then recorded', () => {
    expect(granted(pulledWith(bySecret('a', 'old')), bySecret('a', 'new'))).toEqual({
      isGranted: true,
      learned: { kubernetesSecrets: [secret('a', 'new')] },
    });
  });

  test.each([
    ['no credentials', []],
    ['credentials of the node', [undefined]],
    ['another Secret', [bySecret('b', 'other')]],
    ['a Secret of the same name that was made anew', [bySecret('a', 'other', 'new')]],
    ['a service account of the name of a Secret', [byAccount('a')]],
  ])('not with %s', (_what, sources) => {
    expect(granted(pulledWith(bySecret('a')), ...sources)).toEqual({ isGranted: false });
  });

  test('not with a Secret whose hash is unknown, even if that of the record is', () => {
    expect(granted(pulledWith(bySecret('a', '')), bySecret('b', ''))).toEqual({ isGranted: false });
  });

  test('with a Secret that is not recorded any more where a hundred are', () => {
    const many = Array.from({ length: 100 }, (_, index) => bySecret(`s${index}`));
    expect(granted(pulledWith(...many), bySecret('other'))).toEqual({ isGranted: true });
  });
});

test('what a record says before the credentials are known', () => {
  const unknown = recordWith(undefined, { imageRef: 'id', name: NAME, credentials: undefined, now: '' });
  expect(recordedAccess(undefined, NAME)).toBe('ask the registry');
  expect(recordedAccess(unknown, NAME)).toBe('ask the registry');
  expect(recordedAccess(pulledWith(undefined), 'quay.io/other')).toBe('ask the registry');
  expect(recordedAccess(pulledWith(undefined), NAME)).toBe('granted');
  expect(recordedAccess(pulledWith(bySecret('a')), NAME)).toBe('depends on credentials');
});

describe('files', () => {
  test('a record that was written is read', () => {
    const record = pulledWith(bySecret('a'), byAccount('b'));
    expect(readPulledRecord(JSON.parse(JSON.stringify(record)))).toEqual(record);
  });

  test('a record of an older kubelet is read', () => {
    const record = { ...pulledWith(undefined), apiVersion: 'kubelet.config.k8s.io/v1alpha1' };
    expect(readPulledRecord(record)?.imageRef).toBe('id');
  });

  test.each([
    [undefined],
    [[]],
    [{ ...pulledWith(undefined), kind: 'Other' }],
    [{ ...pulledWith(undefined), apiVersion: 'v9' }],
    [{ ...pulledWith(undefined), imageRef: 7 }],
    [{ ...pulledWith(undefined), credentialMapping: { [NAME]: { nodePodsAccessible: 'yes' } } }],
    [{ ...pulledWith(undefined), credentialMapping: { [NAME]: { kubernetesSecrets: [{ uid: 'a' }] } } }],
  ])('%j is no record', (content) => {
    expect(readPulledRecord(content)).toBeUndefined();
  });

  test('an intent names its image', () => {
    const intent = { kind: 'ImagePullIntent', apiVersion: 'kubelet.config.k8s.io/v1beta1', image: 'app:1' };
    expect(readPullIntent(intent)).toBe('app:1');
    expect(readPullIntent({ ...intent, image: 7 })).toBeUndefined();
    expect(readPullIntent(pulledWith(undefined))).toBeUndefined();
  });
});
