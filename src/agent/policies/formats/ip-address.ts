/** IP addresses as texts: one spelling for each address. */

export interface IPAddress {
  /** The usual spelling: `10.1.1.1`, `fd00::1`. */
  readonly text: string;
  readonly isIPv4: boolean;
}

const IPV4 = /^(\d{1,})\.(\d{1,})\.(\d{1,})\.(\d{1,})$/;
/** An IPv4 address inside an IPv6 address, as URLs spell it. */
const MAPPED = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/;

/**
 * The address that a text spells, if it is one. As in Kubernetes, numbers of an IPv4 address may begin with zeros and are decimal, and
 * `::ffff:10.1.1.1` is an IPv4 address.
 */
export function parseIPAddress(text: string): IPAddress | undefined {
  const numbers = IPV4.exec(text)?.slice(1).map(Number);
  if (numbers) return numbers.every((number) => number <= 255) ? ofNumbers(numbers) : undefined;
  if (!/^[\da-fA-F:.]+$/.test(text) || !text.includes(':')) return undefined;
  const url = `http://[${text}]/`;
  if (!URL.canParse(url)) return undefined;
  const spelled = new URL(url).hostname.slice(1, -1);
  const [, high, low] = MAPPED.exec(spelled) ?? [];
  if (high === undefined || low === undefined) return { text: spelled, isIPv4: false };
  const halves = [parseInt(high, 16), parseInt(low, 16)];
  return ofNumbers(halves.flatMap((half) => [half >> 8, half & 255]));
}

function ofNumbers(numbers: readonly number[]): IPAddress {
  return { text: numbers.join('.'), isIPv4: true };
}

export function isUnspecified({ text }: IPAddress): boolean {
  return text === '0.0.0.0' || text === '::';
}

export function isLoopback({ text, isIPv4 }: IPAddress): boolean {
  return isIPv4 ? text.startsWith('127.') : text === '::1';
}

export function isMulticast({ text, isIPv4 }: IPAddress): boolean {
  if (!isIPv4) return /^ff[\da-f]{2}:/.test(text);
  const first = Number(text.split('.', 1)[0]);
  return first >= 224 && first <= 239;
}

/** Valid only on the link to which the interface is connected. */
export function isLinkLocal({ text, isIPv4 }: IPAddress): boolean {
  return isIPv4 ? text.startsWith('169.254.') : /^fe[89ab][\da-f]:/.test(text);
}

/** Whether other machines may reach the address. */
export function isGlobal(address: IPAddress): boolean {
  return ![isUnspecified, isLoopback, isMulticast, isLinkLocal].some((is) => is(address));
}
