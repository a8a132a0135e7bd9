/** Documents of manifests whose parts a command has to know. Loaded only for these, as it brings a reader of YAML with it. */
import { isMap, parseDocument } from 'yaml';
import { isJsonObject } from '../../agent/policies/formats/canonical-json.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';

export interface ManifestDocument {
  /** `web.yaml`, `web.yaml, document 2`. */
  readonly place: string;
  readonly text: string;
}

export interface DocumentName {
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string;
}

/** The items of a list, or the document itself. `namespace`: for those that name none. Throws `InvalidArgument` where they name another. */
export function itemsOf(
  document: ManifestDocument,
  namespace: string | undefined,
): readonly ManifestDocument[] {
  const value = valueOf(document);
  if (!isJsonObject(value) || !String(value.kind).endsWith('List') || !Array.isArray(value.items))
    return [namespace === undefined ? document : within(namespace, document)];
  const kind = String(value.kind).replace(/List$/u, '');
  const items = value.items.map((item: unknown, index) => ({
    place: `${document.place}, item ${index + 1}`,
    // The items of a PodList may leave out apiVersion and kind.
    text: JSON.stringify(kind === '' ? item : { apiVersion: 'v1', kind, ...(item as object) }),
  }));
  return namespace === undefined ? items : items.map((item) => within(namespace, item));
}

/** Of the object that it has. Throws `InvalidArgument`. */
export function nameOf(document: ManifestDocument): DocumentName {
  const value = valueOf(document);
  const metadata = isJsonObject(value) && isJsonObject(value.metadata) ? value.metadata : {};
  const { name, namespace } = metadata;
  if (isJsonObject(value) && typeof value.kind === 'string' && typeof name === 'string')
    return { kind: value.kind, name, namespace: typeof namespace === 'string' ? namespace : undefined };
  throw invalid(document, 'needs kind and metadata.name');
}

/** `pod default/web`; undefined where the document cannot be read, or names no object: the daemon says what is wrong with it. */
export function objectOf(document: ManifestDocument): string | undefined {
  try {
    const { kind, namespace = 'default', name } = nameOf(document);
    return `${kind.toLowerCase()} ${namespace}/${name}`;
  } catch {
    return undefined;
  }
}

function within(namespace: string, document: ManifestDocument): ManifestDocument {
  const { name, namespace: own = namespace } = nameOf(document);
  if (own !== namespace)
    throw invalid(document, `"${name}" is in namespace "${own}", and --namespace says "${namespace}"`);
  const parsed = parsedDocument(document);
  if (isMap(parsed.contents)) parsed.setIn(['metadata', 'namespace'], namespace);
  return { ...document, text: parsed.toString() };
}

function valueOf(document: ManifestDocument): unknown {
  try {
    return parsedDocument(document).toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw error instanceof StateletError ? error : invalid(document, errorMessage(error));
  }
}

function parsedDocument(document: ManifestDocument): ReturnType<typeof parseDocument> {
  const parsed = parseDocument(document.text);
  const [problem] = parsed.errors;
  if (problem === undefined) return parsed;
  throw invalid(document, `is not valid YAML: ${problem.message.split('\n')[0] ?? ''}`);
}

function invalid({ place }: ManifestDocument, message: string): StateletError {
  return new StateletError('InvalidArgument', `${place}: ${message}`);
}
