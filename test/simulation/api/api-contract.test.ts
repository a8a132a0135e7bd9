/** A real API server does what the simulated one does. */
import { afterEach, beforeAll } from '@jest/globals';
import { openApiClients } from '../../../src/agent/cluster/client/open-api-clients.ts';
import { FixedCredentials } from '../../support/api/fixed-credentials.ts';
import { ObservedConnection } from '../../support/api/observed-connection.ts';
import { describeOnControlPlane } from '../../support/control-plane.ts';
import { holdsTheContract } from './api-contract.ts';
import { holdsTheContractOfContents } from './content-contract.ts';

describeOnControlPlane('the contract, on a real API server', (controlPlane) => {
  const opened: { close(): void }[] = [];
  const apiOf = (user: 'admin' | 'node') => {
    const credentials = new FixedCredentials(controlPlane.details(user));
    const clients = openApiClients(credentials, new ObservedConnection(), { userAgent: 'statelet/test' });
    opened.push(clients);
    return clients.main;
  };

  beforeAll(async () => {
    const serviceAccount = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } };
    const other = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-2' } };
    await controlPlane.apply(serviceAccount, other);
  });
  afterEach(() => {
    for (const clients of opened.splice(0)) clients.close();
  });

  const bed = () => ({
    node: apiOf('node'),
    admin: apiOf('admin'),
    settle: <T>(promise: Promise<T>) => promise,
  });
  holdsTheContract(bed);
  holdsTheContractOfContents(bed);
});
