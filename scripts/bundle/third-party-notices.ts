/**
 * The licences of the libraries that a bundle contains: they must go wherever the code goes. Bundles keep comments that are marked as licences;
 * this is for the licence files of packages, and for packages that have none.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const PACKAGE_FOLDER = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/u;
const LICENSE_FILE = /^(?:licen[cs]e|notice|copying)/iu;
/** The comment at the top of a file, whether of lines or a block. */
const FIRST_COMMENT = /^(?:\s*\/\/.*\n)+|^\s*\/\*[^]*?\*\//u;

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/** One section per bundled package, by name. `bundled`: paths of files from `root`. Throws when a package does not name its licence. */
export function thirdPartyNotices(bundled: readonly string[], root: string): string {
  const folders = new Set(bundled.flatMap((file) => PACKAGE_FOLDER.exec(file) ?? []));
  const sections = [...folders].sort().map((folder) => {
    const files = bundled.filter((file) => file.startsWith(`${folder}/`)).map((file) => join(root, file));
    return section(join(root, folder), files);
  });
  return ['Statelet contains code of these packages.\n', ...sections].join(`\n${'-'.repeat(80)}\n\n`);
}

function section(folder: string, bundled: readonly string[]): string {
  const { name, version, license } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  ) as Manifest;
  if (license === undefined) throw new Error(`${name} does not name its licence`);
  const licenseFiles = readdirSync(folder).filter((file) => LICENSE_FILE.test(file));
  const texts =
    licenseFiles.length > 0
      ? licenseFiles.sort().map((file) => readFileSync(join(folder, file), 'utf8').trim())
      : copyrightComments(bundled);
  return `${[`${name} ${version}: ${license}`, ...texts].join('\n\n')}\n`;
}

function copyrightComments(files: readonly string[]): string[] {
  const comments = files.map((file) => FIRST_COMMENT.exec(readFileSync(file, 'utf8'))?.[0].trim() ?? '');
  return [...new Set(comments.filter((comment) => /copyright/iu.test(comment)))];
}
