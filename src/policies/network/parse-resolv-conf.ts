import type { DNSConfig } from '../../types/cri.ts';
import { StateletError } from '../../types/errors.ts';

/**
 * Reads a `resolv.conf` as the kubelet does: all name servers count, and the last line each of `search` and `options`. Other
 * lines are ignored. Throws a StateletError of kind InvalidArgument that names the line.
 */
export function parseResolvConf(text: string): DNSConfig {
  const servers: string[] = [];
  let searches: readonly string[] = [];
  let options: readonly string[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const [keyword, ...values] = line.trim().split(/\s+/);
    if (keyword === 'nameserver') {
      if (values[0] === undefined) throw noServer(index + 1);
      servers.push(values[0]);
    } else if (keyword === 'search') {
      searches = values.map(withoutLastDot);
    } else if (keyword === 'options') {
      options = values;
    }
  }
  return { servers, searches, options };
}

/** A domain and the same domain with a dot at its end count as one. The root, `.`, is kept. */
function withoutLastDot(domain: string): string {
  return domain === '.' ? domain : domain.replace(/\.$/, '');
}

function noServer(line: number): StateletError {
  return new StateletError('InvalidArgument', `line ${line}: nameserver has no address behind it`);
}
