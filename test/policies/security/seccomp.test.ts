import { describe, expect, test } from '@jest/globals';
import { seccompProfile } from '../../../src/policies/security/seccomp.ts';
import { podOf } from '../../support/pod-status-facts.ts';

const FACTS = { seccompDefault: false, seccompProfileRoot: '/var/lib/kubelet/seccomp' };
const UNCONFINED = { profileType: 'Unconfined', localhostRef: '' };
const RUNTIME_DEFAULT = { profileType: 'RuntimeDefault', localhostRef: '' };

interface Profile {
  readonly type: string;
  readonly localhostProfile?: string;
}

function profile(ofPod: Profile | undefined, own: Profile | undefined, seccompDefault = false) {
  const pod = podOf({ ...(ofPod && { securityContext: { seccompProfile: ofPod } }) });
  const container = { name: 'app', ...(own && { securityContext: { seccompProfile: own } }) };
  return seccompProfile(pod, container, { ...FACTS, seccompDefault });
}

describe('the seccomp profile of a container', () => {
  test("is its own before the pod's", () => {
    expect(profile({ type: 'RuntimeDefault' }, { type: 'Unconfined' })).toEqual(UNCONFINED);
    expect(profile({ type: 'RuntimeDefault' }, undefined)).toEqual(RUNTIME_DEFAULT);
  });

  test("is none where neither names one, or the runtime's with seccompDefault", () => {
    expect(profile(undefined, undefined)).toEqual(UNCONFINED);
    expect(profile(undefined, undefined, true)).toEqual(RUNTIME_DEFAULT);
  });

  test('of type Localhost is a file in the folder of profiles', () => {
    expect(profile(undefined, { type: 'Localhost', localhostProfile: 'web/strict.json' })).toEqual({
      profileType: 'Localhost',
      localhostRef: '/var/lib/kubelet/seccomp/web/strict.json',
    });
  });

  test('of type Localhost needs the name of a file', () => {
    expect(() => profile({ type: 'Localhost' }, undefined)).toThrow('localhostProfile must be set');
  });
});
