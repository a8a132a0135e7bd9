import type { StateletConfig } from '../config/config.ts';
import { shownURL } from '../policies/formats/secret-fields.ts';
import { welcome } from '../server/welcome.ts';
import type { Logger } from '../types/logger.ts';

export interface AnnounceOptions {
  readonly config: StateletConfig;
  readonly isInCluster: boolean;
  /** Where the endpoints are served, as `host:port`; undefined when they are not. */
  readonly address: string | undefined;
  /** Where the page is served. */
  readonly page: string | undefined;
  readonly logger: Logger;
  /** A person reads the log in a terminal: it begins with instructions. */
  readonly forPeople: boolean;
  /** Shows these instructions elsewhere than in the log. */
  readonly welcome?: (text: string) => void;
}

/** Says which pods the daemon runs, and from where; to people, with what they can do now. */
export function announce(options: AnnounceOptions): void {
  const { config, isInCluster, address, page, logger, forPeople } = options;
  const { staticPodPath, staticPodURL, localPods, nodeName, rootDir } = config;
  const url = staticPodURL === undefined ? undefined : shownURL(staticPodURL);
  const server = isInCluster ? 'the API server' : undefined;
  const local = localPods.map((pods) => ('url' in pods ? shownURL(pods.url) : pods.path));
  const sources = [...local, staticPodPath, url, server].filter((source) => source !== undefined);
  const runtime = config.containerRuntimeEndpoint;
  const fields = { node: nodeName, rootDir, runtime, ...(address && { address }) };
  const message = `Running the pods of ${sources.join(' and ') || 'no source'}`;
  if (!forPeople) {
    logger.info(fields, message);
    return;
  }
  const shell = { cwd: process.cwd(), isNpm: process.env.npm_command !== undefined };
  const tell = options.welcome ?? ((text: string) => logger.info({}, text));
  tell(welcome({ ...config, sources, page }, shell));
  logger.debug(fields, message);
}
