import { expect, test } from '@jest/globals';
import { kubeletVersion } from '../../../src/commands/kubelet/kubelet-version.ts';

test('--version says which Kubernetes this is, in the line that installers read', () => {
  expect(kubeletVersion('true')).toBe('Kubernetes v1.36.2\n');
  expect(kubeletVersion('1')).toBe('Kubernetes v1.36.2\n');
  expect(kubeletVersion('false')).toBeUndefined();
});

test('--version=raw has its parts, as Go writes them', () => {
  expect(kubeletVersion('raw')).toMatch(
    /^version\.Info\{Major:"1", Minor:"36", (?:\w+:"", ){4}GitVersion:"v1\.36\.2", .*Platform:"linux\/\w+"\}\n$/u,
  );
});

test('the version with a suffix may be given, and no other', () => {
  expect(kubeletVersion('v1.36.2-eks-1')).toBeUndefined();
  expect(() => kubeletVersion('v1.35.0')).toThrow(
    '--version: version "v1.35.0" must match major/minor/patch of default version "v1.36.2"',
  );
  expect(() => kubeletVersion('maybe')).toThrow(/^--version: must be true, false, raw, or v1\.36\.2/u);
});
