/** Values of KubeletConfiguration that ask for a part of the kubelet which is not here. A pod would not get what they promise it. */

const ONLY: Readonly<Record<string, readonly [value: string | boolean, what: string]>> = {
  cpuManagerPolicy: ['none', 'CPU manager'],
  memoryManagerPolicy: ['None', 'memory manager'],
  topologyManagerPolicy: ['none', 'topology manager'],
  runOnce: [false, 'daemon that ends when its pods run, but the command "statelet run-once"'],
};

/** One sentence for each field, to come after the name of the file. An empty text stands for the default. */
export function refusedValues(document: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(ONLY).flatMap(([field, [value, what]]) => {
    const given = document[field];
    if (given === undefined || given === '' || given === value) return [];
    return [`${field}: must be ${JSON.stringify(value)}: there is no ${what} (got ${JSON.stringify(given)})`];
  });
}
