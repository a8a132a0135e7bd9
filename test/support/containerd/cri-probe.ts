/** Two questions to CRI, in bytes written by hand: a test bed that relied on what it tests would prove little. */
import { Client, credentials } from '@grpc/grpc-js';

const same = (bytes: Buffer): Buffer => bytes;

/** Asks one method of CRI; rejects when there is no answer within a minute: a busy machine takes its time. */
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

/** Whether CRI serves: containerd listens before that. */
export async function criServes(endpoint: string): Promise<boolean> {
  try {
    await ask(endpoint, '/runtime.v1.RuntimeService/Version', Buffer.alloc(0));
    return true;
  } catch {
    return false;
  }
}

/** Whether CRI knows the image: containerd tells it some time after an import. */
export async function criHasImage(endpoint: string, ref: string): Promise<boolean> {
  const spec = field(1, Buffer.from(ref));
  const answer = await ask(endpoint, '/runtime.v1.ImageService/ImageStatus', field(1, spec));
  return answer.length > 0;
}

/** A field of a message, of a type that has a length; shorter than 128 bytes. */
function field(number: number, content: Buffer): Buffer {
  if (content.length > 127) throw new Error('too long for a length of one byte');
  return Buffer.concat([Buffer.from([(number << 3) | 2, content.length]), content]);
}
