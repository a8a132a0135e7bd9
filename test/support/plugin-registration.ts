import type { RegistrationStatus } from '../../src/agent/plugins/protocol/service-methods.ts';
import { waitFor } from './wait-for.ts';

/** Resolves when the agent has said that the plugin is registered. `told`: what it has said, which grows. */
export async function registered(told: readonly RegistrationStatus[]): Promise<void> {
  await waitFor(() => told.some((status) => status.registered), {
    what: 'the driver to be registered',
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}; it was told ${JSON.stringify(told)}`, { cause: error });
  });
}
