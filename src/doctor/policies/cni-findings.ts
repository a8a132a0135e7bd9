/** The network of pods, as the runtime takes it from the files of CNI: the first file by its name counts. */
import { type Finding, findingsOf, type Members, parsedObject, type Reading } from './finding.ts';

export interface CNIFacts {
  readonly confDir: string;
  readonly binDirs: readonly string[];
  /** By name. Only `.conf`, `.conflist` and `.json`. */
  readonly files: Reading<readonly { readonly name: string; readonly text: Reading<string> }[]>;
  /** The programs in the folders of plugins. */
  readonly programs: readonly string[];
}

interface Network {
  readonly name: string;
  readonly plugins: readonly string[];
}

const { ok, warning, error, unread } = findingsOf('cni');

export function cniFindings(facts: CNIFacts): readonly Finding[] {
  const { confDir, files } = facts;
  const make = `install -D -m 644 examples/systemd/10-statelet.conflist ${confDir}/10-statelet.conflist, or install the CNI plugin of your cluster`;
  if ('problem' in files) return [unread(confDir, files, make)];
  const [first, ...others] = files.value.map((file) => ({ ...file, path: `${confDir}/${file.name}` }));
  if (first === undefined) return [error(`${confDir} has no CNI configuration`, make)];
  return [
    fileFinding(first.path, first.text, facts),
    ...others.flatMap(({ path, text }) => {
      if ('problem' in text) return [];
      const network = networkOf(text.value, path);
      if (typeof network !== 'string') return [];
      return [warning(`${path} ${network}; it is not used, since ${first.name} comes first`, `rm ${path}`)];
    }),
  ];
}

function fileFinding(path: string, text: Reading<string>, { binDirs, programs }: CNIFacts): Finding {
  if ('problem' in text) return unread(path, text, `chmod 644 ${path}`);
  const network = networkOf(text.value, path);
  if (typeof network === 'string')
    return error(`${path} ${network}`, `mend it, or remove it so that the next file counts: rm ${path}`);
  const missing = network.plugins.filter((plugin) => !programs.includes(plugin));
  if (missing.length === 0) return ok(`${path}: ${network.name} (${network.plugins.join(', ')})`);
  const where = binDirs.join(' and ');
  const mend =
    'install the plugins there (Debian: apt-get install containernetworking-plugins, bin_dir = "/usr/lib/cni")';
  return error(`${path} needs ${missing.join(', ')}, which ${where} does not have`, mend);
}

/** A text says what is wrong. */
function networkOf(text: string, path: string): Network | string {
  const value = parsedObject(text);
  if (typeof value === 'string') return value;
  if (!isNamed(value)) return 'has no name';
  const plugins = path.endsWith('.conflist') ? value.plugins : [value];
  if (!Array.isArray(plugins) || plugins.length === 0) return 'has no plugins';
  const types = plugins.map((plugin: unknown) => (plugin as { type?: unknown } | null)?.type);
  const names = types.filter((type) => typeof type === 'string' && /^[^/]+$/u.test(type)) as string[];
  return names.length === types.length
    ? { name: value.name, plugins: names }
    : 'has a plugin without the name of its program (type)';
}

function isNamed(value: Members): value is Members & { readonly name: string } {
  return typeof value.name === 'string' && value.name !== '';
}
