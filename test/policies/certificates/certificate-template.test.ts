import { describe, expect, test } from '@jest/globals';
import {
  alternativeNames,
  clientTemplate,
  servingTemplate,
} from '../../../src/policies/certificates/certificate-template.ts';

const address = (type: string, text: string) => ({ type, address: text });

describe('the names in a serving certificate', () => {
  test('are the DNS names and IP addresses of the node, each once and sorted', () => {
    const addresses = [
      address('InternalIP', '10.0.0.2'),
      address('ExternalIP', '1.2.3.4'),
      address('InternalIP', '10.0.0.2'),
      address('Hostname', 'node-1'),
      address('InternalDNS', 'node-1.internal'),
      address('ExternalDNS', 'example.com'),
    ];
    expect(alternativeNames(addresses)).toEqual({
      dnsNames: ['example.com', 'node-1', 'node-1.internal'],
      ipAddresses: ['1.2.3.4', '10.0.0.2'],
    });
  });

  test('take a host name that is an IP address for one', () => {
    expect(alternativeNames([address('Hostname', '10.0.0.2'), address('Hostname', 'fd00:0::1')])).toEqual({
      dnsNames: [],
      ipAddresses: ['10.0.0.2', 'fd00::1'],
    });
  });

  test('leave out what is empty, no IP address, or of an unknown type', () => {
    const addresses = [
      address('Hostname', ''),
      address('InternalIP', 'node-1'),
      address('ExternalIP', '10.0.0.256'),
      address('Other', 'node-1'),
    ];
    expect(alternativeNames(addresses)).toEqual({ dnsNames: [], ipAddresses: [] });
  });

  test('need an IP address', () => {
    expect(servingTemplate('node-1', [address('Hostname', 'node-1')])).toBeUndefined();
    expect(servingTemplate('node-1', [address('InternalIP', '10.0.0.2')])).toEqual({
      ...clientTemplate('node-1'),
      ipAddresses: ['10.0.0.2'],
    });
  });
});
