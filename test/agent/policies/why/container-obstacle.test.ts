import { expect, test } from '@jest/globals';
import { registryAnswer } from '../../../../src/agent/policies/why/container-obstacle.ts';

const failed = (host: string, why: string) =>
  `Failed to pull image "${host}/app:1": failed to pull and unpack image "${host}/app:1": failed to resolve reference "${host}/app:1": ${why}`;

// As containerd 1.7 and 2 write them.
test.each<[string, string]>([
  [
    failed(
      '127.0.0.1:5000',
      'pulling from host 127.0.0.1:5000 failed with status code [manifests 1]: 403 Forbidden',
    ),
    '127.0.0.1:5000 answered 403 (Forbidden)',
  ],
  [
    failed(
      '127.0.0.1:5000',
      'pulling from host mirror.example failed with status code [manifests 1]: 503 Service Unavailable',
    ),
    'mirror.example answered 503 (Service Unavailable)',
  ],
  [
    failed(
      'reg.example',
      'unexpected status from HEAD request to https://reg.example/v2/app/manifests/1: 401 Unauthorized',
    ),
    'reg.example answered 401 (Unauthorized)',
  ],
  [
    failed(
      'reg.example',
      'failed to authorize: failed to fetch anonymous token: unexpected status from GET request to https://auth.example/token?scope=repository%3Aapp%3Apull: 429 Too Many Requests',
    ),
    'auth.example answered 429 (Too Many Requests)',
  ],
  [failed('reg.example', 'unexpected status code: 500'), '127.0.0.1:5000 answered 500'],
  [
    failed(
      'reg.example',
      'pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed',
    ),
    '127.0.0.1:5000 denied access: it does not have the image, or wants credentials',
  ],
  [
    failed('127.0.0.1:5000', '127.0.0.1:5000/app:1: not found'),
    '127.0.0.1:5000 does not have it (not found)',
  ],
  [
    failed(
      'reg.example',
      'failed to do request: Head "http://reg.example/v2/app/manifests/1": dial tcp 10.0.0.1:80: connect: connection refused.',
    ),
    'reg.example was not reached (connect: connection refused)',
  ],
  [
    failed(
      'reg.example',
      'failed to do request: Head "https://reg.example/v2/app/manifests/1": dial tcp: lookup reg.example: no such host',
    ),
    'reg.example was not reached (lookup reg.example: no such host)',
  ],
])('%s', (message, answer) => {
  expect(registryAnswer(message, '127.0.0.1:5000/app:1')).toBe(answer);
});

test('names the registry that stands for an image without a host', () => {
  expect(registryAnswer('x: not found', 'library/app:1')).toBe('docker.io does not have it (not found)');
  expect(registryAnswer('x: not found', 'localhost/app:1')).toBe('localhost does not have it (not found)');
  expect(registryAnswer('x: not found', 'app:1')).toBe('docker.io does not have it (not found)');
});

test('a message of another form is left as it is', () => {
  expect(registryAnswer('no space left on device', 'app:1')).toBeUndefined();
});
