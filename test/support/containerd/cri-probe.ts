/** Two calls to CRI, encoded by hand: the test bed must not rely on the code under test. */
import { Client, credentials } from '@grpc/grpc-js';

const same = (bytes: Buffer): Buffer => bytes;

/** Calls one method of CRI; rejects when there is no answer within a minute, as a busy machine may be slow. */
async function ask(endpoint: string, method: string, request: Buffer): Promise<Buffer> {
  const client = new Client(endpoint, credentials.createInsecure());
  try {
    return await new Promise((resolve, reject) => {
      const deadline = Date.now() + 60_000;
      client.makeUnaryRequest(method, same, same, request, { deadline }, (error, answer) =>
        error ? reject(error) : resolve(answer ?? Buffer.alloc(0)),
      );
    });
  } finally {
    client.close();
  }
}

/** Whether CRI is ready: containerd listens earlier. */
export async function criServes(endpoint: string): Promise<boolean> {
  try {
    await ask(endpoint, '/runtime.v1.RuntimeService/Version', Buffer.alloc(0));
    return true;
  } catch {
    return false;
  }
}

/** Whether CRI knows the image: it learns of an import some time later. */
export async function criHasImage(endpoint: string, ref: string): Promise<boolean> {
  const spec = field(1, Buffer.from(ref));
  const answer = await ask(endpoint, '/runtime.v1.ImageService/ImageStatus', field(1, spec));
  return answer.length > 0;
}

/** A length-delimited field of a message, shorter than 128 bytes. */
function field(number: number, content: Buffer): Buffer {
  if (content.length > 127) throw new Error('too long for a length of one byte');
  return Buffer.concat([Buffer.from([(number << 3) | 2, content.length]), content]);
}
