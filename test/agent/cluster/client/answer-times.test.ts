/** The clock of this machine beside the times in answers of an API server. */
import { expect, test } from '@jest/globals';
import { openApiClients } from '../../../../src/agent/cluster/client/open-api-clients.ts';
import { FixedCredentials } from '../../../support/api/fixed-credentials.ts';
import { HttpBed, loopbackCertificates } from '../../../support/api/http-bed.ts';
import { ObservedConnection } from '../../../support/api/observed-connection.ts';

test('the time of each answer is compared with the clock of this machine', async () => {
  const certificates = loopbackCertificates();
  const dates = [new Date(Date.now() - 3_600_000).toUTCString(), undefined];
  const bed = await new HttpBed({ protocol: 'h2', files: certificates.files }, (_request, answer) => {
    const date = dates.shift();
    answer.writeHead(date === undefined ? 200 : 403, {
      'content-type': 'application/json',
      ...(date && { date }),
    });
    answer.end('{"kind":"Node","metadata":{"name":"n"}}');
  }).open();
  const observer = new ObservedConnection();
  const credentials = new FixedCredentials({ server: bed.url, ca: certificates.ca, headers: {} });
  const { main, close } = openApiClients(credentials, observer, { userAgent: 'statelet/test', env: {} });
  try {
    await expect(main.get({ resource: 'nodes', name: 'n' })).rejects.toMatchObject({ status: 403 });
    await main.get({ resource: 'nodes', name: 'n' });
    const [first = 0, ...others] = observer.clockDifferences;
    expect(Math.round(first / 60_000)).toBe(60);
    expect(others).toEqual([0]);
  } finally {
    close();
    await bed.close();
    certificates.remove();
  }
});
