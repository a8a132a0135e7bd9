/** Certificates for a control plane of a test, made by openssl. */
import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface CertificateRequest {
  /** The name of the files. */
  readonly name: string;
  /** `/O=system:nodes/CN=system:node:node-1`. */
  readonly subject: string;
  readonly usage: 'clientAuth' | 'serverAuth';
  /** `IP:127.0.0.1,DNS:localhost`. */
  readonly alternativeNames?: string;
  /** Default 30. 0: the certificate has expired when it is made. */
  readonly days?: number;
}

/** Paths of PEM files. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

/** An authority in a folder. */
export class CertificateAuthority {
  readonly dir: string;
  readonly files: CertificateFiles;

  constructor(dir: string) {
    this.dir = dir;
    this.files = this.filesOf('ca');
  }

  filesOf(name: string): CertificateFiles {
    return { cert: join(this.dir, `${name}.crt`), key: join(this.dir, `${name}.key`) };
  }

  async create(): Promise<this> {
    const { cert, key } = this.files;
    const extensions = ['basicConstraints=critical,CA:TRUE', 'keyUsage=critical,keyCertSign,cRLSign'];
    const flags = [...extensions.flatMap((text) => ['-addext', text]), '-subj', '/CN=test-ca'];
    await run('openssl', ['req', '-x509', ...newKey(key), ...flags, '-days', '30', '-out', cert]);
    return this;
  }

  /** The files of an earlier certificate of that name are overwritten. */
  async issue({ name, subject, usage, ...rest }: CertificateRequest): Promise<CertificateFiles> {
    const { alternativeNames, days = 30 } = rest;
    const { cert, key } = this.filesOf(name);
    const [request, extensions] = [join(this.dir, `${name}.csr`), join(this.dir, `${name}.ext`)];
    const lines = ['keyUsage=critical,digitalSignature,keyEncipherment', `extendedKeyUsage=${usage}`];
    if (alternativeNames !== undefined) lines.push(`subjectAltName=${alternativeNames}`);
    writeFileSync(extensions, lines.join('\n'));
    await run('openssl', ['req', '-new', ...newKey(key), '-subj', subject, '-out', request]);
    const ca = ['-CA', this.files.cert, '-CAkey', this.files.key, '-set_serial', serial()];
    const flags = ['-in', request, '-extfile', extensions, '-days', String(days), '-out', cert];
    await run('openssl', ['x509', '-req', ...ca, ...flags]);
    for (const file of [request, extensions]) rmSync(file);
    return { cert, key };
  }
}

function newKey(file: string): string[] {
  return ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', file];
}

let serials = 1000;
function serial(): string {
  serials += 1;
  return String(serials);
}
