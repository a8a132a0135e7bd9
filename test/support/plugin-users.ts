/** Users that may register plugins, as the file of a node has them. */
import { writeFileSync } from 'node:fs';

type Users = Readonly<Record<string, readonly [password: string, resources: readonly string[]]>>;

export function usersConfig(users: Users): object {
  const all = Object.entries(users);
  return {
    basicAuthConfig: {
      userPasswordPairs: all.map(([username, [password]]) => ({
        username,
        password: Buffer.from(password).toString('base64'),
      })),
    },
    accessControlConfig: {
      accessControlPolicies: all.map(([username, [, resources]]) => ({
        username,
        policyRule: { resources },
      })),
    },
  };
}

export function writeUsers(path: string, users: Users, mode = 0o600): void {
  writeFileSync(path, JSON.stringify(usersConfig(users)), { mode });
}

export const basicToken = (user: string, password: string) =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
