/** The addresses of its node in a pod's status. */
import { parseIPAddress } from '../formats/ip-address.ts';
import type { NodeAddress } from '../../types/kubernetes.ts';

/** The first internal address, else the first external one, and then the first of the other family. */
export function hostIPsOf(addresses: readonly NodeAddress[]): readonly string[] {
  const ofType = (type: string) => addresses.filter((address) => address.type === type);
  const all = [...ofType('InternalIP'), ...ofType('ExternalIP')]
    .map(({ address }) => parseIPAddress(address))
    .filter((address) => address !== undefined);
  const [first] = all;
  const second = all.find(({ isIPv4 }) => isIPv4 !== first?.isIPv4);
  return [first, second].filter((address) => address !== undefined).map(({ text }) => text);
}
