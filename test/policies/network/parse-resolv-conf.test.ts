import { describe, expect, test } from '@jest/globals';
import { parseResolvConf } from '../../../src/policies/network/parse-resolv-conf.ts';

describe('resolv.conf', () => {
  test.each<[string, string, object]>([
    ['nothing', '', {}],
    ['comments', '# nameserver 1.1.1.1\n; search x\n   # options y', {}],
    [
      'name servers, all of them',
      'nameserver 1.1.1.1\nnameserver\tfd00::1 trailing\n',
      { servers: ['1.1.1.1', 'fd00::1'] },
    ],
    ['of searches the last line', 'search a b\nsearch c', { searches: ['c'] }],
    [
      'searches without their last dot, but the root',
      'search a.org. . b.org',
      { searches: ['a.org', '.', 'b.org'] },
    ],
    ['an empty search takes back what was before', 'search a\nsearch', { searches: [] }],
    ['of options the last line', 'options rotate\noptions ndots:5 edns0', { options: ['ndots:5', 'edns0'] }],
    ['white space and line ends of other systems', '  nameserver 1.1.1.1\r\n', { servers: ['1.1.1.1'] }],
    ['what it does not know is passed over', 'domain a\nsortlist b\nnameserverx 2', {}],
  ])('%s', (_, text, wanted) => {
    expect(parseResolvConf(text)).toEqual({ servers: [], searches: [], options: [], ...wanted });
  });

  test('a name server without an address is an error that names its line', () => {
    expect(() => parseResolvConf('# x\nnameserver\n')).toThrow('line 2: nameserver has no address behind it');
  });
});
