/** The network interfaces of a machine's default routes, from the files in which Linux lists its routes. */

const NO_ADDRESS_V4 = '00000000';
const NO_ADDRESS_V6 = '0'.repeat(32);
const UP = 0x0001;
const REJECT = 0x0200;

/** `text`: /proc/net/route. The interfaces are in the order of the file. */
export function defaultInterfacesV4(text: string): readonly string[] {
  return rows(text).flatMap(([name = '', destination, , flags = '', , , , mask]) => {
    const isDefault = destination === NO_ADDRESS_V4 && mask === NO_ADDRESS_V4;
    return isDefault && isUsable(flags) ? [name] : [];
  });
}

/** `text`: /proc/net/ipv6_route. */
export function defaultInterfacesV6(text: string): readonly string[] {
  return rows(text).flatMap((row) => {
    const [destination, prefix] = row;
    const [flags = '', name = ''] = row.slice(8);
    const isDefault = destination === NO_ADDRESS_V6 && prefix === '00';
    return isDefault && isUsable(flags) && name !== 'lo' ? [name] : [];
  });
}

function rows(text: string): readonly (readonly string[])[] {
  return text.split('\n').map((line) => line.trim().split(/\s+/));
}

function isUsable(flags: string): boolean {
  const bits = parseInt(flags, 16);
  return (bits & UP) !== 0 && (bits & REJECT) === 0;
}
