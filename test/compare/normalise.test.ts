import { describe, expect, test } from '@jest/globals';
import { normalise, normaliseLogLine, normaliseText, withoutEmpty } from '../../scripts/compare/normalise.ts';

const UID = '0c0c9cc1678394328d1f0f1aa59ba037';
const ID = 'eaee8b247bac0134aac4b3ae33b8b91b6bb52818181b016cd702d76c954db6e9';

describe('normalising text', () => {
  test.each([
    ['a UID in a cgroup', `/kubepods/pod${UID}`, '/kubepods/pod<uid>'],
    ['a UID in a folder of logs', `default_a-node-a_${UID}/main`, 'default_a-node-a_<uid>/main'],
    ["a container's id", `containerd://${ID}`, 'containerd://<id>'],
    ['times of both spellings', '2026-01-02T03:04:05Z 2026-01-02T03:04:05.678+02:00', '<time> <time>'],
    ['the folder behind a volume', 'link to ..2026_01_02_03_04_05.678912345', 'link to ..<time>'],
    ['the file of a termination message', 'containers/main/0686c2bf', 'containers/main/<message>'],
    ['how long a back-off is', 'back-off 40s restarting failed', 'back-off <delay> restarting failed'],
    [
      'how long a pull took',
      'pulled in 12ms (1.2s including waiting)',
      'pulled in <delay> (<delay> including waiting)',
    ],
    [
      "a connection's own port",
      'read tcp 10.1.2.3:41234->10.1.2.4:80',
      'read tcp 10.1.2.3:<port>->10.1.2.4:80',
    ],
  ])('names %s', (_what, text, expected) => {
    expect(normaliseText(text, [])).toBe(expected);
  });

  test('leaves other hexadecimal digits and versions as they are', () => {
    expect(normaliseText('abc123 1.2.3 containers/main/log', [])).toBe('abc123 1.2.3 containers/main/log');
  });

  test('replaces the longer of two folders where one lies in the other', () => {
    const names = [
      ['/tmp/a', '<outer>'],
      ['/tmp/a/b', '<inner>'],
    ] as const;
    expect(normaliseText('/tmp/a/b/c /tmp/a/c', names)).toBe('<inner>/c <outer>/c');
  });

  test('takes the time off a line of a log, and no more', () => {
    const line = '2026-01-02T03:04:05.678Z stdout F it is 12 o’clock';
    expect(normaliseLogLine(line, [])).toBe('stdout F it is 12 o’clock');
  });
});

describe('normalising values', () => {
  test('gives the options of DNS one order, in requests and in what a container prints of them', () => {
    const dns_config = { servers: ['b', 'a'], options: ['ndots:2', 'edns0'] };
    expect(normalise({ dns_config }, [])).toEqual({
      dns_config: { servers: ['b', 'a'], options: ['edns0', 'ndots:2'] },
    });
    const line = '2026-01-02T03:04:05.678Z stdout F options ndots:2 edns0';
    expect(normaliseLogLine(line, [])).toBe('stdout F options edns0 ndots:2');
  });

  test('gives the variables of a container one order', () => {
    const [a, b] = [
      { key: 'A', value: '1' },
      { key: 'B', value: '2' },
    ];
    expect(normalise({ envs: [b, a] }, [])).toEqual({ envs: [a, b] });
  });

  test('names times by their fields, and leaves out what is null', () => {
    expect(normalise({ startTime: 'any', lastProbeTime: null, phase: 'Running' }, [])).toEqual({
      startTime: '<time>',
      phase: 'Running',
    });
  });

  test('counts restarts up to one: how many there are is a matter of time', () => {
    expect(normalise([{ restartCount: 0 }, { restartCount: 1 }, { restartCount: 7 }], [])).toEqual([
      { restartCount: 0 },
      { restartCount: 1 },
      { restartCount: 1 },
    ]);
  });

  test('takes JSON in a string for what it says, whatever the order of its keys', () => {
    const [one, other] = ['{"a":1,"b":[2]}', '{"b":[2],"a":1}'];
    expect(normalise(one, [])).toEqual(normalise(other, []));
    expect(normalise('{not JSON', [])).toBe('{not JSON');
  });

  test('replaces names in keys too', () => {
    expect(normalise({ [`pods/${UID}`]: 1 }, [])).toEqual({ 'pods/<uid>': 1 });
  });

  test('leaves out what is empty all through', () => {
    const status = { lastState: {}, resources: { limits: {} }, name: '', ready: false, list: [] };
    expect(withoutEmpty([status])).toEqual([{ name: '', ready: false }]);
  });
});
