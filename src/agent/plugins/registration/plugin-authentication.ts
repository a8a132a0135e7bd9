/**
 * Whether an eviction plugin is one that may register: it returns a token, and a file of the operator, or the cluster, names the user of the token.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { parse } from 'yaml';
import { readForeignFile } from '../../../system/files/foreign-file.ts';
import { patientCalls } from '../../../system/files/patient-calls.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { PluginMeasurements } from '../../../types/measurements.ts';
import {
  permissionProblem,
  pluginLogin,
  type PluginUsers,
  pluginUsers,
} from '../../policies/eviction-plugins/plugin-users.ts';

export interface AuthenticationOptions {
  /** Empty: there is none. */
  readonly usersFile: string;
  /** Those of the cluster, which come before the file's: whoever sets them for many nodes means all of them. */
  readonly clusterUsers?: () => PluginUsers | undefined;
  /** A plugin that has not proved who it is is refused. Otherwise that is only counted. */
  readonly isStrict: boolean;
  readonly measurements?: Pick<PluginMeasurements, 'validated'> | undefined;
}

/** Katalyst's words, in its metric. */
type Failure = 'get_token_failed' | 'authenticate_failed' | 'no_permission';

const FILE_BYTES_MAX = 1024 * 1024;
/** Rights of others to a file with passwords. */
const OPEN_TO_OTHERS = 0o077n;
const UNKNOWN_USER = 'unknown';

export class PluginAuthentication {
  readonly #options: AuthenticationOptions;

  constructor(options: AuthenticationOptions) {
    this.#options = options;
  }

  /** Why the plugin is not taken; undefined where it is. `askToken` rejects where it has none. The file is read each time. */
  async problemOf(plugin: string, askToken: () => Promise<string>): Promise<string | undefined> {
    const { isStrict, measurements } = this.#options;
    const { failure, problem = '', user = UNKNOWN_USER } = await this.#verdict(plugin, askToken);
    const [strict, valid] = [String(isStrict), String(failure === undefined)];
    measurements?.validated({ name: plugin, strict, valid, reason: failure ?? '', user });
    return isStrict && failure !== undefined ? problem : undefined;
  }

  async #verdict(
    plugin: string,
    askToken: () => Promise<string>,
  ): Promise<{ readonly failure?: Failure; readonly problem?: string; readonly user?: string }> {
    let token: string;
    try {
      token = await askToken();
    } catch (error) {
      return { failure: 'get_token_failed', problem: `failed to get token: ${errorMessage(error)}` };
    }
    let users: PluginUsers;
    try {
      users = this.#options.clusterUsers?.() ?? (await readUsers(this.#options.usersFile));
    } catch (error) {
      const problem = `the users of this agent are not known: ${errorMessage(error)}`;
      return { failure: 'authenticate_failed', problem };
    }
    const login = pluginLogin(token);
    const password = users.passwords.get(login?.user ?? '');
    if (login === undefined || password === undefined || !isSame(password, login.password))
      return {
        failure: 'authenticate_failed',
        problem: 'failed to verify token: it is none of a user of this agent',
      };
    const { user } = login;
    const problem = permissionProblem(users, user, plugin);
    return problem === undefined ? { user } : { failure: 'no_permission', problem, user };
  }
}

/** Rejects with a message that names the file. */
async function readUsers(file: string): Promise<PluginUsers> {
  if (file === '')
    throw new StateletError('FailedPrecondition', 'no AuthConfiguration for this node has been read yet');
  try {
    const { content, stats } = await patientCalls.call(file, () =>
      readForeignFile(file, { bytesMax: FILE_BYTES_MAX }),
    );
    if ((stats.mode & OPEN_TO_OTHERS) !== 0n)
      throw new StateletError('FailedPrecondition', 'others than its owner may read or write it: chmod 600');
    return pluginUsers(parse(content.toString()));
  } catch (error) {
    throw new StateletError('InvalidArgument', `${file}: ${errorMessage(error)}`, { cause: error });
  }
}

/** Takes as long, whatever differs. */
function isSame(one: string, other: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(one), hash(other));
}
