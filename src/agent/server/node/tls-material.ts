/** The certificate of the node's server and the certificate authorities of its clients, read again when their files change. */
import { constants } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { TLSChoice } from '../../policies/server/tls-names.ts';
import { readProvidedFile } from '../../../system/files/foreign-file.ts';
import { patientCalls, START_DEADLINE_MS } from '../../../system/files/patient-calls.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';

export interface ServingPair {
  /** PEM. */
  readonly cert: string;
  /** PEM. Never logged. */
  readonly key: string;
}

export interface TLSMaterialOptions {
  /** The certificate that is valid now; undefined while there is none: then no handshake succeeds. */
  readonly certificate: () => Promise<ServingPair | undefined>;
  /** Undefined: clients are not asked for certificates. */
  readonly clientCAFile: string | undefined;
  readonly choice: TLSChoice;
}

const CERTIFICATE = '-----BEGIN CERTIFICATE-----';

export class TLSMaterial {
  readonly asksForClientCertificate: boolean;
  readonly #options: TLSMaterialOptions;
  readonly #clientCA: WatchedFile | undefined;
  #last: readonly (string | undefined)[] | undefined;

  constructor(options: TLSMaterialOptions) {
    this.#options = options;
    const { clientCAFile } = options;
    this.#clientCA = clientCAFile === undefined ? undefined : new WatchedFile(clientCAFile);
    this.asksForClientCertificate = clientCAFile !== undefined;
  }

  /** Undefined where nothing has changed since the last call. Rejects, and names the file, where one is not valid. */
  async changed(): Promise<SecureContextOptions | undefined> {
    const pair = await this.#options.certificate();
    const ca = await this.#authorities();
    const now = [pair?.cert, pair?.key, ca];
    if (this.#last?.every((text, index) => text === now[index]) === true) return undefined;
    const options: SecureContextOptions = {
      ...this.#options.choice,
      ...(pair && { cert: pair.cert, key: pair.key }),
      ca,
      // A session that is resumed would keep a client certificate that is no longer accepted.
      secureOptions: constants.SSL_OP_NO_TICKET,
    };
    check(options);
    this.#last = now;
    return options;
  }

  async #authorities(): Promise<string | undefined> {
    const file = this.#clientCA;
    if (file === undefined) return undefined;
    const text = await file.text().catch((error: unknown) => {
      throw wrong(`${file.path} cannot be read: ${errorMessage(error)}`);
    });
    if (!text.includes(CERTIFICATE)) throw wrong(`${file.path} holds no certificate in PEM`);
    try {
      createSecureContext({ ca: text });
    } catch {
      throw wrong(`${file.path} holds a certificate that cannot be read`);
    }
    return text;
  }
}

/** Certificate and key from two files. They are replaced one after the other: in between they do not belong together. */
export function pairOfFiles(certFile: string, keyFile: string): () => Promise<ServingPair> {
  const [cert, key] = [new WatchedFile(certFile), new WatchedFile(keyFile)];
  return async () => {
    try {
      return { cert: await cert.text(), key: await key.text() };
    } catch (error) {
      throw wrong(errorMessage(error));
    }
  };
}

function check(options: SecureContextOptions): void {
  try {
    createSecureContext(options);
  } catch (error) {
    throw wrong(`the certificate, its key or the TLS settings cannot be used: ${errorMessage(error)}`);
  }
}

function wrong(problem: string): StateletError {
  return new StateletError('FailedPrecondition', problem);
}

/** A file whose text is read again when it has changed. */
export class WatchedFile {
  readonly path: string;
  #text: string | undefined;
  #version = '';

  constructor(path: string) {
    this.path = path;
  }

  /** Rejects with the system's error, and with a StateletError where it is no plain file, is too large or does not answer. */
  async text(): Promise<string> {
    const deadlineMs = this.#text === undefined ? START_DEADLINE_MS : undefined;
    const look = () => stat(this.path, { bigint: true });
    const { mtimeNs, ctimeNs, ino, size } = await patientCalls.call(this.path, look, deadlineMs);
    const version = [mtimeNs, ctimeNs, ino, size].join();
    if (this.#text === undefined || version !== this.#version) {
      this.#text = await readProvidedFile(this.path, { deadlineMs });
      this.#version = version;
    }
    return this.#text;
  }
}
